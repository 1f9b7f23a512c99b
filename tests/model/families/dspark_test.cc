#include <gtest/gtest.h>

#include "support/example_model.h"
#include "support/model_rows.h"
#include "support/tiny_drafts.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::BuildError;
using testing_support::DecoderNumbers;
using testing_support::RowNamed;
using testing_support::TinyKimiK3Dspark;
using testing_support::With;

// What a file without tables of its own stores: parameters, and tensors.
std::pair<int64_t, int64_t> Stored(const ModelSpec& spec) {
  const auto is_table = [](const ModuleRow& row) {
    return row.role == Role::kEmbedding || row.role == Role::kHead || row.role == Role::kLeftover;
  };
  int64_t parameters = 0, tensors = 0;
  for (const ModuleRow& row : spec.table.rows) {
    if (!row.stored || is_table(row)) continue;
    for (const StoredTensor& tensor : StoredTensors(row)) {
      parameters += tensor.parameters * row.Count();
      tensors += row.Count();
    }
  }
  return {parameters, tensors};
}

// RadixArk/Kimi-K3-DSpark has 2,249,289,601 parameters in 62 tensors (lucebox #573 converted it).
// Width, words and rank are Kimi-K3's and DSpark's; layers and heads are what the total leaves room
// for.
TEST(Dspark, RadixArksDraftOfKimiK3) {
  const ModelSpec spec =
      Build(With(DecoderNumbers("Qwen3DSparkModel", 7168, 14336, 5, 64, 16, 64, 163840, 1048576),
                 {{"dflash_config", {{"target_layer_ids", {2, 23, 47, 71, 89}}}},
                  {"markov_rank", 256},
                  {"enable_confidence_head", true},
                  {"confidence_head_with_markov", true}}));
  EXPECT_EQ(spec.arch.family, "dspark");
  EXPECT_EQ(Stored(spec), (std::pair<int64_t, int64_t>(2'249'289'601, 62)));
}

nlohmann::json InferactsDraft() {
  return With(DecoderNumbers("K3DSparkModel", 7168, 14336, 5, 64, 64, 0, 163840, 1048576),
              {{"q_lora_rank", 1536},
               {"kv_lora_rank", 512},
               {"qk_nope_head_dim", 128},
               {"qk_rope_head_dim", 64},
               {"v_head_dim", 128},
               {"num_target_layers", 5},
               {"target_hidden_size", 7168},
               {"markov_rank", 256}});
}

// Inferact/Kimi-K3-DSpark: about 3.56 billion with the embedding that its file brings along.
TEST(Dspark, InferactsDraftOfKimiK3) {
  const ModelSpec spec = Build(InferactsDraft());
  EXPECT_EQ(spec.arch.attention, std::vector<AttentionKind>(5, AttentionKind::kMla));
  const int64_t with_embedding = Stored(spec).first + int64_t{163840} * 7168;
  EXPECT_EQ(with_embedding / 10'000'000, 356);
  EXPECT_EQ(RowNamed(spec, "context_kv_proj.weight")->shape, (Shape{5 * 576, 7168}));
  EXPECT_FALSE(RowNamed(spec, "context_kv_proj.weight")->stored);
  EXPECT_EQ(RowNamed(spec, "embed_tokens.weight")->placement, Placement::kNotLoaded);
}

TEST(Dspark, Refusals) {
  EXPECT_EQ(BuildError(With(TinyKimiK3Dspark(), {{"mla_use_output_gate", true}})),
            "config.json: mla_use_output_gate: expected false: vLLM's draft has no output gate");
  EXPECT_EQ(BuildError(With(TinyKimiK3Dspark(), {{"q_lora_rank", nullptr}})),
            "config.json: q_lora_rank: vLLM's draft needs compressed queries, found none");
}

}  // namespace
}  // namespace shardplan
