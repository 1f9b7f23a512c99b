// Prefetch offload: whole layers in host memory, copied back ahead of their turn.
#ifndef SHARDPLAN_ENGINE_VLLM_PREFETCH_H_
#define SHARDPLAN_ENGINE_VLLM_PREFETCH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/vllm/offload.h"
#include "shardplan/engine/settings.h"

namespace shardplan::vllm {

// Which offloader the settings choose. Source: vllm/model_executor/offloader/base.py (d29f7f5c):
// automatically prefetch where groups are asked for, UVA where GiB are.
enum class OffloadBackend { kNone, kUva, kPrefetch };
OffloadBackend ChosenOffload(const EngineSettings& settings);

// Why vLLM refuses the settings, in its words. Source: vllm/config/offload.py (d29f7f5c).
std::optional<std::string> PrefetchRefusal(const EngineSettings& settings);

// What vLLM says where settings of both backends are given; the plan goes on with the chosen one.
std::optional<std::string> OffloadConflict(const EngineSettings& settings);

// The last `num_in_group` layers of every `group_size` move, counted from the stage's first layer,
// whole or with the parameters of `offload_params` alone; layers without any stay. Each distinct
// parameter (name, shape, dtype) of those that move has `prefetch_step` buffers on the card, so
// kinds of layers add up. Source: vllm/model_executor/offloader/prefetch.py (d29f7f5c).
Offload WalkPrefetch(const DeviceWeights& weights, const StageRange& stage,
                     const EngineSettings& settings);

// What the settings offload of a stage, by either backend.
Offload WalkOffload(const DeviceWeights& weights, const StageRange& stage,
                    const EngineSettings& settings);

// The engine's own line about it; sizes in GB of 10^9.
std::string PrefetchLog(const Offload& offload, const EngineSettings& settings);

}  // namespace shardplan::vllm

#endif  // SHARDPLAN_ENGINE_VLLM_PREFETCH_H_
