#include <gtest/gtest.h>

#include "support/example_model.h"
#include "support/model_rows.h"
#include "support/tiny_families.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::BuildError;
using testing_support::RowEnding;
using testing_support::TinyDots1;
using testing_support::With;

TEST(Dots1, DenseFirstThenMixtures) {
  const ModelSpec spec = Build(TinyDots1());
  EXPECT_EQ(spec.arch.family, "dots1");
  EXPECT_FALSE(spec.arch.is_moe(0));
  EXPECT_EQ(spec.arch.moe.shared_intermediate, 48);
  EXPECT_EQ(RowEnding(spec, "self_attn.q_norm.weight")->shape, (Shape{8}));
  // In the router's dtype on the card, unlike DeepSeek's.
  EXPECT_EQ(RowEnding(spec, "e_score_correction_bias")->device_dtype, DType::kBF16);
  EXPECT_EQ(RowEnding(spec, "shared_experts.gate_proj")->split, Split::kColumn);
}

TEST(Dots1, Refusals) {
  EXPECT_EQ(BuildError(With(TinyDots1(), {{"moe_layer_freq", 2}})),
            "config.json: moe_layer_freq: expected 1: every layer after the dense ones is MoE");
  EXPECT_EQ(BuildError(With(TinyDots1(), {{"sliding_window", 16}})),
            "config.json: sliding_window: sliding-window layers are not modelled");
}

}  // namespace
}  // namespace shardplan
