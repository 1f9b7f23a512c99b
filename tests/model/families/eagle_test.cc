#include <gtest/gtest.h>

#include "support/example_model.h"
#include "support/model_rows.h"
#include "support/tiny_drafts.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::DenseConfig;
using testing_support::RowNamed;
using testing_support::TinyEagle;
using testing_support::With;

// The published head for Llama-3-8B calls itself Llama: one layer without its first norm, and a
// projection of twice the width; its embedding is the target's once more.
TEST(Eagle, AHeadOfLlama8B) {
  Assumptions head;
  head.draft_method = "eagle";
  const ModelSpec spec =
      Build(DenseConfig("LlamaForCausalLM", 4096, 14336, 1, 32, 8, 128256), head);
  EXPECT_EQ(spec.arch.family, "eagle");
  EXPECT_EQ(spec.arch.name, "EagleLlamaForCausalLM");
  EXPECT_EQ(Totals(spec.table).parameters,
            4096LL * (128256 + (32 + 8 + 8) * 128 + 4096 + 3 * 14336 + 2 * 4096) + 4096);
}

TEST(Eagle, TheFirstLayerHasNoNormBeforeIt) {
  const ModelSpec two = Build(TinyEagle());
  EXPECT_EQ(RowNamed(two, "layers.{L}.input_layernorm.weight")->layers.layers(),
            std::vector<int64_t>{1});
  EXPECT_EQ(RowNamed(two, "layers.{L}.post_attention_layernorm.weight")->layers.size(), 2);
  EXPECT_EQ(RowNamed(two, "norm.weight"), nullptr);
  EXPECT_EQ(RowNamed(two, "lm_head.weight"), nullptr);
  EXPECT_FALSE(RowNamed(two, "fc")->bias);
}

TEST(Eagle, HassNormsBothInputs) {
  const ModelSpec spec = Build(With(TinyEagle(), {{"add_para_norm", true}, {"bias", true}}));
  EXPECT_NE(RowNamed(spec, "embedding_layernorm.weight"), nullptr);
  EXPECT_NE(RowNamed(spec, "hidden_states_layernorm.weight"), nullptr);
  EXPECT_TRUE(RowNamed(spec, "fc")->bias);
}

}  // namespace
}  // namespace shardplan
