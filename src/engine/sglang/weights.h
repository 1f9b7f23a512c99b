// What SGLang makes of a model's weights on one rank.
#ifndef SHARDPLAN_ENGINE_SGLANG_WEIGHTS_H_
#define SHARDPLAN_ENGINE_SGLANG_WEIGHTS_H_

#include <memory>
#include <string>
#include <vector>

#include "engine/sglang/context.h"
#include "shardplan/base/finding.h"
#include "shardplan/sharding/device_weights.h"

namespace shardplan::sglang {

// --moe-runner-backend as it ends up; "upcast" where MXFP4 experts have no kernel on this card and
// "auto" makes BF16 of them: 3.8 times their bytes.
// Source: arg_groups/overrides.py, layers/quantization/mxfp4.py (0bda0b168).
std::string ResolveMoeRunner(const Context& context);

// The upcast as a finding of its own: SGLang does it in silence.
std::vector<Finding> CheckRunner(const Context& context);

// Multiples that a runner pads a rank's intermediate size and the experts' width to.
struct RunnerTile {
  int64_t intermediate = 1;
  int64_t width = 1;
};
RunnerTile TileOf(const Context& context, const std::string& runner);

// Attention by the attention TP, experts by EP and what is left of TP, shared experts whole under
// an all-to-all, dense MLPs whole with --moe-dense-tp-size 1, the head by the attention TP with
// --enable-dp-lm-head.
ShardingRules RulesFor(const Context& context);

// The model's table as SGLang creates it: with experts in BF16 where they are upcast.
TensorTable TableFor(const Context& context);

// The model's parameters on a rank, from the context's cache where it has one.
std::shared_ptr<const DeviceWeights> WeightsOn(const Context& context, const ShardingRules& rules);

// Tensors of a stage that stand beside the parameters.
struct ExtraBytes {
  std::string name;
  Bytes bytes;
  std::string rule;
  std::string source;
  bool post_load = false;  // made of loaded weights, not created with them
};
std::vector<ExtraBytes> Extras(const Context& context, const StageRange& stage);

// Parameters and extras of a rank of each stage.
std::vector<Bytes> WeightsByStage(const Context& context, const std::vector<StageRange>& stages);

}  // namespace shardplan::sglang

#endif  // SHARDPLAN_ENGINE_SGLANG_WEIGHTS_H_
