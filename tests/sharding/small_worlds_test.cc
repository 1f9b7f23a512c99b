// Every small layout of every family against a naive accountant that hands out elements one by one.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "shardplan/sharding/device_weights.h"
#include "support/tiny_drafts.h"
#include "support/tiny_families.h"
#include "support/tiny_models.h"

namespace shardplan {
namespace {

using testing_support::Build;

// What one rank is, for the accountant.
struct Seat {
  int64_t tp_rank, dp_rank, stage;
  int64_t flat(int64_t tp) const { return dp_rank * tp + tp_rank; }
};

// Owns the rules in the plainest words: does this rank hold element (row, column) of this module?
class Accountant {
 public:
  Accountant(const Architecture& arch, const ShardingRules& rules) : a_(arch), r_(rules) {}

  bool Holds(const ModuleRow& row, int64_t expert, int64_t o, int64_t i, int64_t rows,
             int64_t columns, const Seat& seat) const {
    const int64_t tp = r_.sizes.tp;
    const int64_t ranks = r_.sizes.dp * tp;
    Split split = row.split;
    int64_t kv_heads = row.kv_heads;
    // Inside a fused tensor, the part's own rule counts from the part's own first row.
    for (const RowPart& part : row.parts) {
      split = part.split;
      kv_heads = part.kv_heads;
      rows = part.rows;
      if (o < rows) break;
      o -= rows;
    }
    switch (split) {
      case Split::kReplicated:
        return true;
      case Split::kColumn:
      case Split::kSharedColumn:
        if (split == Split::kSharedColumn && r_.replicate_shared) return true;
        return o * tp / rows == seat.tp_rank;
      case Split::kRow:
      case Split::kSharedRow:
        if (split == Split::kSharedRow && r_.replicate_shared) return true;
        return i * tp / columns == seat.tp_rank;
      case Split::kVisionColumn:
        return !r_.vision_sharded || o * tp / rows == seat.tp_rank;
      case Split::kVisionRow:
        return !r_.vision_sharded || i * tp / columns == seat.tp_rank;
      case Split::kKvHeads: {
        const int64_t heads = kv_heads > 0 ? kv_heads : a_.kv_heads;
        const int64_t head = o / (rows / heads);
        return tp <= heads ? head * tp / heads == seat.tp_rank : seat.tp_rank * heads / tp == head;
      }
      case Split::kVocabulary:
        return o * tp / rows == seat.tp_rank;  // rows are the padded ones
      case Split::kExpertGate:
      case Split::kExpertUp:
      case Split::kExpertDown: {
        if (r_.sizes.expert_parallel) return OwnerOfExpert(expert, ranks) == seat.flat(tp);
        const bool down = split == Split::kExpertDown;
        return (down ? i * ranks / columns : o * ranks / rows) == seat.flat(tp);
      }
    }
    return false;
  }

  // Experts dealt out in order, the first ranks one more.
  int64_t OwnerOfExpert(int64_t expert, int64_t ranks) const {
    int64_t next = 0;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      next += a_.moe.experts / ranks + (rank < a_.moe.experts % ranks ? 1 : 0);
      if (expert < next) return rank;
    }
    return -1;
  }

 private:
  const Architecture& a_;
  const ShardingRules& r_;
};

struct World {
  ParallelSizes sizes;
  ShardingRules rules;
};

// Bytes of weights (no scales, no fused padding) by role on one rank, counted element by element.
std::map<Role, int64_t> Naive(const ModelSpec& spec, const World& world, const Seat& seat,
                              const StageRange& range) {
  const Accountant accountant(spec.arch, world.rules);
  std::map<Role, int64_t> elements;
  const bool first = seat.stage == 0;
  const bool last = seat.stage + 1 == world.sizes.pp;
  for (const ModuleRow& row : spec.table.rows) {
    if (!row.stored && row.shape.dims.empty()) continue;  // the engine's own scales
    int64_t copies = 0;
    if (row.placement == Placement::kLayers) {
      copies = row.layers.CountIn(range.first, range.end());
    } else if (row.placement == Placement::kFirstStage) {
      copies = first ? 1 : 0;
    } else if (row.placement == Placement::kLastStage) {
      copies = last ? 1 : 0;
    } else if (row.placement == Placement::kEveryStage) {
      copies = 1;
    }
    copies *= std::max<int64_t>(row.blocks, 1);
    if (copies == 0) continue;
    const Shape& shape = row.device_shape ? *row.device_shape : row.shape;
    int64_t rows = shape.dims[0];
    int64_t columns = 1;
    int64_t depth = 1;
    if (shape.dims.size() > 1) columns = shape.dims[1];
    for (size_t d = 2; d < shape.dims.size(); ++d) depth *= shape.dims[d];
    if (row.split == Split::kVocabulary) rows = RoundUp(rows, 64);
    int64_t held = 0;
    for (int64_t expert = 0; expert < std::max<int64_t>(row.experts, 1); ++expert) {
      for (int64_t o = 0; o < rows; ++o) {
        for (int64_t i = 0; i < columns; ++i) {
          held += accountant.Holds(row, expert, o, i, rows, columns, seat) ? 1 : 0;
        }
      }
      if (row.bias) {
        for (int64_t o = 0; o < rows; ++o) {
          const bool whole = row.split == Split::kRow || row.split == Split::kSharedRow ||
                             row.split == Split::kVisionRow;
          held += whole || accountant.Holds(row, expert, o, 0, rows, columns, seat) ? 1 : 0;
        }
      }
    }
    elements[row.role] += held * depth * copies;
  }
  return elements;
}

// The same from the sharding layer, with what the accountant doesn't know taken out: scales, and
// rows that pad a fused projection.
std::map<Role, int64_t> Computed(const ModelSpec& spec, const World& world, const Seat& seat,
                                 const StageRange& range, const DeviceWeights& weights) {
  std::map<Role, int64_t> elements;
  auto add = [&](const std::vector<DeviceParam>& params, int64_t) {
    for (const DeviceParam& param : params) {
      if (param.name.find("weight_scale") != std::string::npos) continue;
      if (param.name.find("self_attn.attn.") != std::string::npos) continue;
      const int64_t packed = param.dtype == DType::kU8 ? 2 : 1;
      const int64_t one = BitsOf(param.dtype) / 8;
      elements[param.role] += param.bytes.count() / one * packed;
    }
  };
  for (int64_t layer = range.first; layer < range.end(); ++layer) {
    add(weights.layer(layer).params, 1);
  }
  if (seat.stage == 0) add(weights.first_stage, 1);
  if (seat.stage + 1 == world.sizes.pp) add(weights.last_stage, 1);
  add(weights.every_stage, 1);
  // DeepSeek-V4 has a sink for 64 heads at least.
  const int64_t sinks = spec.arch.compress_ratio.empty() ? 0 : range.count;
  const int64_t heads = spec.arch.heads / world.sizes.tp;
  if (sinks > 0) elements[Role::kAttention] -= sinks * (RoundUp(heads, 64) - heads);
  // Kimi-K3's fused projection is padded to 16 rows.
  const int64_t kda = spec.arch.CountKind(AttentionKind::kKda, range.first, range.count);
  if (kda > 0 && spec.arch.family == "kimi-k3") {
    const int64_t rows = 4 * spec.arch.kda.width() / world.sizes.tp + spec.arch.kda.head_dim +
                         spec.arch.kda.heads / world.sizes.tp;
    elements[Role::kLinearAttention] -= kda * (RoundUp(rows, 16) - rows) * spec.arch.hidden;
  }
  return elements;
}

void CheckEveryLayout(const nlohmann::json& config) {
  const ModelSpec spec = Build(config);
  int worlds = 0;
  for (int64_t tp = 1; tp <= 8; ++tp) {
    for (int64_t pp = 1; pp <= std::min<int64_t>(8, spec.arch.layers()); ++pp) {
      for (int64_t dp = 1; dp <= 8; ++dp) {
        for (const bool ep : {false, true}) {
          for (const bool replicate : {false, true}) {
            if (spec.arch.moe.experts == 0 && (ep || replicate || dp > 1)) continue;
            World world;
            world.sizes = {tp, pp, dp, 1, ep};
            ShardingRules& rules = world.rules;
            rules.sizes = world.sizes;
            rules.replicate_shared = replicate;
            rules.vision_sharded = spec.arch.vision.heads % tp == 0 && spec.arch.vision.present;
            const int64_t ranks = world.sizes.expert_ranks();
            if (spec.arch.moe.experts > 0) {
              if (ep && ranks > spec.arch.moe.experts) continue;
              // A slice is whole groups of 32 that share a scale: backends pad to far more.
              const int64_t group = spec.arch.quantization == "mxfp4" ? 32 : 1;
              if (!ep && spec.arch.moe.intermediate % (ranks * group) != 0) continue;
              rules.expert_intermediate = spec.arch.moe.intermediate / (ep ? 1 : ranks);
              rules.expert_width =
                  spec.arch.moe.latent > 0 ? spec.arch.moe.latent : spec.arch.hidden;
              rules.local_experts = spec.arch.moe.experts;
            }
            if (!CheckSharding(spec.arch, spec.table, rules).empty()) continue;
            ++worlds;
            const std::vector<StageRange> stages = DefaultPartition(spec.arch.layers(), pp);
            std::map<Role, int64_t> total;
            // One TP × DP plane is enough: stages differ by their layers alone.
            for (int64_t stage = 0; stage < pp; ++stage) {
              const StageRange range = stages[static_cast<size_t>(stage)];
              for (int64_t d = 0; d < dp; d += std::max<int64_t>(1, dp - 1)) {
                for (int64_t t = 0; t < tp; t += std::max<int64_t>(1, tp - 1)) {
                  const Seat seat{t, d, stage};
                  ShardingRules mine = rules;
                  if (ep) {
                    const int64_t rank = seat.flat(tp);
                    mine.local_experts = spec.arch.moe.experts / ranks +
                                         (rank < spec.arch.moe.experts % ranks ? 1 : 0);
                  }
                  world.rules = mine;
                  const DeviceWeights weights = ComputeDeviceWeights(spec.arch, spec.table, mine);
                  EXPECT_EQ(Computed(spec, world, seat, range, weights),
                            Naive(spec, world, seat, range))
                      << "tp " << tp << " pp " << pp << " dp " << dp << " ep " << ep << " stage "
                      << stage << " rank " << t << "," << d;
                  if (::testing::Test::HasFailure()) return;
                }
              }
            }
          }
        }
      }
    }
  }
  EXPECT_GT(worlds, 10);
}

TEST(SmallWorlds, Dense) { CheckEveryLayout(testing_support::TinyDense()); }
TEST(SmallWorlds, Qwen3Moe) { CheckEveryLayout(testing_support::TinyQwen3Moe()); }
TEST(SmallWorlds, Qwen3Next) { CheckEveryLayout(testing_support::TinyQwen3Next()); }
TEST(SmallWorlds, Qwen35) { CheckEveryLayout(testing_support::TinyQwen35()); }
TEST(SmallWorlds, Qwen35Moe) { CheckEveryLayout(testing_support::TinyQwen35Moe()); }
TEST(SmallWorlds, Qwen3Vl) { CheckEveryLayout(testing_support::TinyQwen3Vl()); }
TEST(SmallWorlds, Qwen3VlMoe) { CheckEveryLayout(testing_support::TinyQwen3VlMoe()); }
TEST(SmallWorlds, Glm4Moe) { CheckEveryLayout(testing_support::TinyGlm4Moe()); }
TEST(SmallWorlds, MinimaxM2) { CheckEveryLayout(testing_support::TinyMinimaxM2()); }
TEST(SmallWorlds, Mixtral) { CheckEveryLayout(testing_support::TinyMixtral()); }
TEST(SmallWorlds, DenseInFp8Blocks) {
  nlohmann::json config = testing_support::TinyDense();
  config["quantization_config"] = {{"quant_method", "fp8"}, {"weight_block_size", {4, 4}}};
  CheckEveryLayout(config);
}
TEST(SmallWorlds, DeepseekV3) { CheckEveryLayout(testing_support::TinyDeepseek()); }
TEST(SmallWorlds, DeepseekV32) { CheckEveryLayout(testing_support::TinyDeepseekSparse()); }
TEST(SmallWorlds, DeepseekV4) { CheckEveryLayout(testing_support::TinyDeepseekV4()); }
TEST(SmallWorlds, GlmMoeDsa) {
  nlohmann::json config = testing_support::TinyDeepseekSparse();
  config["architectures"] = {"GlmMoeDsaForCausalLM"};
  config.erase("quantization_config");
  CheckEveryLayout(config);
}
TEST(SmallWorlds, KimiK25) { CheckEveryLayout(testing_support::TinyKimiK25()); }
TEST(SmallWorlds, KimiLinear) { CheckEveryLayout(testing_support::TinyKimiLinear()); }

TEST(SmallWorlds, BailingMoe) { CheckEveryLayout(testing_support::TinyBailingMoe()); }
TEST(SmallWorlds, Dots1) { CheckEveryLayout(testing_support::TinyDots1()); }
TEST(SmallWorlds, Gemma2) { CheckEveryLayout(testing_support::TinyGemma2()); }
TEST(SmallWorlds, Gemma3) { CheckEveryLayout(testing_support::TinyGemma3()); }
TEST(SmallWorlds, Gemma4) { CheckEveryLayout(testing_support::TinyGemma4()); }
TEST(SmallWorlds, GraniteMoe) { CheckEveryLayout(testing_support::TinyGraniteMoe()); }
TEST(SmallWorlds, Grok1) { CheckEveryLayout(testing_support::TinyGrok1()); }
TEST(SmallWorlds, Jamba) { CheckEveryLayout(testing_support::TinyJamba()); }
TEST(SmallWorlds, Llama4) { CheckEveryLayout(testing_support::TinyLlama4()); }
TEST(SmallWorlds, LongcatFlash) { CheckEveryLayout(testing_support::TinyLongcatFlash()); }
TEST(SmallWorlds, MimoV2Flash) { CheckEveryLayout(testing_support::TinyMimoV2Flash()); }
TEST(SmallWorlds, MimoV2FlashInFp8Blocks) {
  CheckEveryLayout(testing_support::With(
      testing_support::TinyMimoV2Flash(),
      {{"quantization_config", {{"quant_method", "fp8"}, {"weight_block_size", {4, 4}}}}}));
}
TEST(SmallWorlds, Mistral3) { CheckEveryLayout(testing_support::TinyMistral3()); }
TEST(SmallWorlds, NemotronH) { CheckEveryLayout(testing_support::TinyNemotronH()); }
TEST(SmallWorlds, NemotronNas) { CheckEveryLayout(testing_support::TinyNemotronNas()); }
TEST(SmallWorlds, Phi3) { CheckEveryLayout(testing_support::TinyPhi3()); }
TEST(SmallWorlds, Qwen) { CheckEveryLayout(testing_support::TinyQwen()); }

// Drafts of their own, as if they were models of five layers.
nlohmann::json WithFiveLayers(const nlohmann::json& draft) {
  return testing_support::With(draft, {{"num_hidden_layers", 5}});
}
TEST(SmallWorlds, Eagle) { CheckEveryLayout(WithFiveLayers(testing_support::TinyEagle())); }
TEST(SmallWorlds, Eagle3Mla) { CheckEveryLayout(testing_support::TinyEagle3Mla(5)); }
TEST(SmallWorlds, Dflash) { CheckEveryLayout(WithFiveLayers(testing_support::TinyDflash())); }
TEST(SmallWorlds, Qwen3Dspark) {
  CheckEveryLayout(WithFiveLayers(testing_support::TinyQwen3Dspark()));
}
TEST(SmallWorlds, KimiK3Dspark) {
  CheckEveryLayout(WithFiveLayers(testing_support::TinyKimiK3Dspark()));
}

TEST(SmallWorlds, KimiK3) {
  // Smaller still: experts of 512 × 256 would be counted for a minute.
  nlohmann::json config = testing_support::TinyKimiK3();
  config["text_config"]["moe_intermediate_size"] = 128;
  config["text_config"]["routed_expert_hidden_size"] = 32;
  CheckEveryLayout(config);
}

// What is divided adds up to the whole over the ranks; what is replicated is there on each.
TEST(SmallWorlds, SlicesAddUp) {
  const ModelSpec spec = Build(testing_support::TinyDense());
  for (const int64_t tp : {1, 2}) {
    ShardingRules rules;
    rules.sizes.tp = tp;
    const DeviceWeights weights = ComputeDeviceWeights(spec.arch, spec.table, rules);
    int64_t divided = 0;
    for (const DeviceParam& param : weights.layer(0).params) {
      if (param.name.starts_with("mlp.") && param.name.ends_with(".weight")) {
        divided += param.bytes.count();
      }
    }
    EXPECT_EQ(divided * tp, 3 * 32 * 64 * 2);
  }
}

}  // namespace
}  // namespace shardplan
