// What vLLM makes of a model's weights on one rank.
#ifndef SHARDPLAN_ENGINE_VLLM_WEIGHTS_H_
#define SHARDPLAN_ENGINE_VLLM_WEIGHTS_H_

#include <memory>
#include <vector>

#include "engine/vllm/context.h"
#include "shardplan/sharding/device_weights.h"

namespace shardplan::vllm {

// Sharding rules of a rank: padding of experts by backend, vision mode, sequence parallelism.
// `ep_rank` matters only where experts don't divide evenly: the first ranks hold one more.
ShardingRules RulesFor(const Context& context, int64_t ep_rank);

// The model's parameters on a rank by `rules`, from the context's cache where it has one.
std::shared_ptr<const DeviceWeights> WeightsOn(const Context& context, const ShardingRules& rules);

// The intermediate size of a routed expert on a rank, before and after padding; for explanations.
struct ExpertPadding {
  int64_t whole = 0;
  int64_t unpadded = 0;    // whole ÷ ranks, or whole with expert parallelism
  int64_t model_rule = 0;  // after Kimi-K3's own minimum
  int64_t padded = 0;      // after the backend's tile
};
ExpertPadding PadExpert(const Context& context);

// One buffer or post-load tensor kind of a stage.
struct ExtraBytes {
  std::string name;
  Bytes bytes;
  std::string rule;
  std::string source;
  Basis basis = Basis::kDerived;
};

// Buffers that vLLM registers beside the parameters: rotary caches, second copies, expert maps.
std::vector<ExtraBytes> Buffers(const Context& context, const StageRange& stage,
                                int64_t local_experts);

// What process_weights_after_loading adds or leaves behind: dequantized MLA up-projections, doubled
// expert scales, layouts of kernels.
std::vector<ExtraBytes> PostLoad(const Context& context, const StageRange& stage,
                                 const DeviceWeights& weights);

// What "Model loading took" counts beyond the tensors of a stage, in versions where it shows what
// torch's allocator takes (the profile's allocator_rounding); zero in others. An estimate: never
// part of the parameters.
Bytes AllocatorRounding(const Context& context, const StageRange& stage,
                        const DeviceWeights& weights);

// The model's table with the device dtypes that --dtype asks for.
TensorTable WithDType(const TensorTable& table, DType from, DType to);

// The same, and `table` itself, which has to outlive it, where nothing changes.
std::shared_ptr<const TensorTable> TableFor(const TensorTable& table, DType from, DType to);

}  // namespace shardplan::vllm

#endif  // SHARDPLAN_ENGINE_VLLM_WEIGHTS_H_
