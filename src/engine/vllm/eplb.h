// Expert balancing: replicas of experts that are busy, moved between ranks as the load shifts.
#ifndef SHARDPLAN_ENGINE_VLLM_EPLB_H_
#define SHARDPLAN_ENGINE_VLLM_EPLB_H_

#include <optional>
#include <string>
#include <vector>

#include "engine/vllm/context.h"
#include "engine/vllm/weights.h"
#include "shardplan/base/finding.h"
#include "shardplan/base/result.h"

namespace shardplan::vllm {

// Reads "num_redundant_experts" and "window_size" of --eplb-config; the other keys cost nothing.
// Fails with kUsage for what is no such object.
Status ReadEplbConfig(const std::string& json, EngineSettings* settings);

// Experts that exist over all ranks, replicas included.
int64_t PhysicalExperts(const Context& context);

// What vLLM refuses whatever the model, in its words. Source: vllm/config/parallel.py (d29f7f5c).
std::optional<Finding> EplbRefusal(const ParallelSizes& sizes, const EngineSettings& settings);

// The same, and what it refuses of a model. Sources: vllm/config/parallel.py, fused_moe/layer.py
// (d29f7f5c).
std::vector<Finding> CheckEplb(const Context& context);

// What balancing holds on a rank besides the replicas: a buffer the size of one layer's experts,
// through which weights move, and the counts of the last batches.
// Source: vllm/distributed/eplb/eplb_state.py (d29f7f5c).
std::vector<ExtraBytes> EplbBuffers(const Context& context, const StageRange& stage,
                                    const DeviceWeights& weights);

}  // namespace shardplan::vllm

#endif  // SHARDPLAN_ENGINE_VLLM_EPLB_H_
