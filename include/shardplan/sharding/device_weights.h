// Role × layout × engine padding → what one rank holds.
#ifndef SHARDPLAN_SHARDING_DEVICE_WEIGHTS_H_
#define SHARDPLAN_SHARDING_DEVICE_WEIGHTS_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shardplan/base/basis.h"
#include "shardplan/base/bytes.h"
#include "shardplan/base/finding.h"
#include "shardplan/layout/layout.h"
#include "shardplan/model/architecture.h"
#include "shardplan/model/tensor_table.h"

namespace shardplan {

// Which way the splits that a family only guesses are taken (TensorSlice::guessed).
enum class GuessEnd {
  kCentral,
  kFinest,  // sliced as finely as their kind allows
  kWhole,   // on every rank
};

// TP sizes of parts that an engine divides by another number than the rest; 0: by `sizes.tp`.
struct PartTp {
  int64_t attention = 0;
  int64_t linear_attention = 0;
  int64_t embedding = 0;
  int64_t head = 0;
  int64_t dense_mlp = 0;
  int64_t shared_experts = 0;

  friend auto operator<=>(const PartTp&, const PartTp&) = default;
};

// What an engine and a deployment decide about sharding. The engine's folder fills it in; this
// layer only does the arithmetic.
struct ShardingRules {
  ParallelSizes sizes;
  PartTp part_tp;
  int64_t vocabulary_multiple = 64;  // rows of embedding and head are rounded up to this first

  // Per-rank intermediate size of a routed expert, after all padding; and the width it sees.
  int64_t expert_intermediate = 0;
  int64_t expert_width = 0;
  int64_t local_experts = 0;  // on this rank
  // Groups of an engine that has an expert-parallel size of its own, for words; 0: as `sizes` say.
  int64_t expert_groups = 0;

  // The backend keeps the NVFP4 input scales of all experts on every rank.
  bool all_input_scales = false;

  bool replicate_shared = false;  // sequence parallelism keeps shared experts and dense MLPs whole
  bool vision_on_device = true;   // --language-model-only leaves tower and projector out
  bool vision_sharded = false;    // vision heads divide by TP and the encoder mode says weights
  GuessEnd guess = GuessEnd::kCentral;

  friend auto operator<=>(const ShardingRules&, const ShardingRules&) = default;

  // The TP size by which tensors of `role` are divided.
  int64_t TpOf(Role role) const;
};

// One tensor as the engine creates it on this rank.
struct DeviceParam {
  std::string name;  // relative to the layer inside a layer, absolute outside
  DType dtype = DType::kBF16;
  Shape shape;
  int64_t blocks = 1;  // of a tower; more than one stands for all of them
  Bytes bytes;         // of all blocks
  Role role = Role::kNorm;
  Split split = Split::kReplicated;
  Basis basis = Basis::kExact;  // of the way it is sliced; softer where a family guesses
  std::string rule;  // in words, for explanations: "rows ÷ TP 8", "896 experts, I 3,072 ÷ 8"
};

// The parameters of one decoder layer, in the engine's order. Layers with the same tables share one
// instance (`LayerClass`), so a stack of 93 layers costs four evaluations.
struct LayerClass {
  std::vector<DeviceParam> params;
  Bytes bytes;
};

struct DeviceWeights {
  std::vector<LayerClass> classes;
  std::vector<size_t> class_of_layer;  // per decoder layer of the model

  // Outside the stack, by where they live.
  std::vector<DeviceParam> first_stage;
  std::vector<DeviceParam> last_stage;
  std::vector<DeviceParam> every_stage;

  const LayerClass& layer(int64_t index) const {
    return classes[class_of_layer[static_cast<size_t>(index)]];
  }
  // Parameters of one stage: its layers, embedding on the first, norm and head on the last (tied
  // embeddings on both), towers on every stage.
  Bytes StageBytes(const StageRange& range, bool first, bool last) const;
};

// Computes what a rank holds. `table` must be legal for `rules` (CheckSharding has no error).
DeviceWeights ComputeDeviceWeights(const Architecture& arch, const TensorTable& table,
                                   const ShardingRules& rules);

// Dimensions that the layout cannot divide. One finding per kind of problem, with ids
// sharding.column, sharding.row, sharding.kv_heads, sharding.fp8_block, sharding.quant_group; the
// engine adds its words.
struct Indivisible {
  std::string id;
  std::string param;      // the engine's parameter
  int64_t dimension = 0;  // the whole dimension
  int64_t divisor = 0;
  int64_t local = 0;   // dimension / divisor where that is whole
  int64_t block = 0;   // the block that `local` must be a multiple of; 0: plain divisibility
  bool output = true;  // output or input dimension
  bool expert = false;
  QuantScheme scheme = QuantScheme::kPlain;  // whose block it is
};
std::vector<Indivisible> CheckSharding(const Architecture& arch, const TensorTable& table,
                                       const ShardingRules& rules);

}  // namespace shardplan

#endif  // SHARDPLAN_SHARDING_DEVICE_WEIGHTS_H_
