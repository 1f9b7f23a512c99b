#include <gtest/gtest.h>

#include "support/example_model.h"
#include "support/model_rows.h"
#include "support/tiny_families.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::BuildError;
using testing_support::RowEnding;
using testing_support::TinyGraniteMoe;
using testing_support::With;

TEST(GraniteMoe, ExpertsAreStacked) {
  const ModelSpec spec = Build(TinyGraniteMoe());
  EXPECT_EQ(spec.arch.family, "granite-moe");
  EXPECT_EQ(StoredTensors(*RowEnding(spec, "input_linear.weight")).front().shape,
            (Shape{12, 48, 32}));
  EXPECT_EQ(StoredTensors(*RowEnding(spec, "output_linear.weight")).front().shape,
            (Shape{12, 32, 24}));
  EXPECT_EQ(RowEnding(spec, "router.layer")->param, "block_sparse_moe.gate");
  EXPECT_EQ(RowEnding(spec, "lm_head.weight"), nullptr);
  EXPECT_NE(
      RowEnding(Build(With(TinyGraniteMoe(), {{"tie_word_embeddings", false}})), "lm_head.weight"),
      nullptr);
}

TEST(GraniteMoe, Refusals) {
  EXPECT_EQ(BuildError(With(TinyGraniteMoe(), {{"attention_bias", true}})),
            "config.json: attention_bias: expected false: no bias is modelled");
}

}  // namespace
}  // namespace shardplan
