// How experts on other ranks are reached, and what that takes.
#ifndef SHARDPLAN_ENGINE_VLLM_ALL2ALL_H_
#define SHARDPLAN_ENGINE_VLLM_ALL2ALL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/vllm/context.h"
#include "shardplan/base/result.h"

namespace shardplan::vllm {

// Batched tokens that vLLM takes by default where experts take whole batches (DeepEP's low-latency
// kernels, NIXL). Source: vllm/config/scheduler.py (d29f7f5c).
constexpr int64_t kBatchedExpertsTokens = 256;

// --all2all-backend, checked: the engine's default where it is not given. kUsage for a name that
// vLLM does not know.
Result<std::string> ResolveAll2All(const std::optional<std::string>& given);

// Whether tokens travel to their experts at all: expert parallelism over data-parallel engines.
// Source: vllm/config/parallel.py:use_all2all_kernels (d29f7f5c).
bool UsesAll2All(const ParallelSizes& sizes);

// Whether the experts' kernels take a fixed batch for each expert.
bool TakesBatches(std::string_view backend, const ParallelSizes& sizes);

// Whether this backend keeps the mixture's input split over the TP ranks, and shared experts whole
// with it. Source: vllm/config/parallel.py:use_sequence_parallel_moe (d29f7f5c).
bool SplitsSequences(std::string_view backend);

// Slices Kimi's shared experts and dense MLP all the same: they then gather the TP group's tokens.
// Source: vllm/models/kimi_k3/nvidia/model.py:shard_sequence_parallel_mlp (ed51064c).
constexpr const char* kSliceSharedVariable = "VLLM_KIMI_K3_SHARD_SP_SHARED_EXPERT";

// Whether the variable has that effect where sequences are split, and whether it is set.
bool CanSliceShared(const Context& context);
bool SlicesShared(const Context& context);

// Tokens of a rank's batch that such kernels take at once.
int64_t BatchedTokens(const Context& context);

// The width of routed experts as the kernels of `backend` take it: DeepEP moves rows of a multiple
// of 512 bytes, its low-latency kernels those of a few sizes. Wider than all of them stays as it
// is. Source: fused_moe/prepare_finalize/deepep_{ht,ll}.py (d29f7f5c).
int64_t RoundedWidth(std::string_view backend, const ParallelSizes& sizes, int64_t width);

// Buffers outside torch that are made with the first mixture, before the profile run: the engine
// counts them. Zero for backends that gather and scatter.
struct All2AllBuffers {
  Bytes nvlink;
  Bytes network;
  std::string source;
};
All2AllBuffers MakeAll2AllBuffers(const Context& context);

}  // namespace shardplan::vllm

#endif  // SHARDPLAN_ENGINE_VLLM_ALL2ALL_H_
