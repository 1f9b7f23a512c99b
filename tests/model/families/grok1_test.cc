#include <gtest/gtest.h>

#include "support/example_model.h"
#include "support/model_rows.h"
#include "support/tiny_families.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::BuildError;
using testing_support::RowEnding;
using testing_support::TinyGrok1;
using testing_support::With;

TEST(Grok1, NormsAreCalledScale) {
  const ModelSpec spec = Build(TinyGrok1());
  EXPECT_EQ(spec.arch.family, "grok1");
  EXPECT_EQ(spec.arch.moe.experts, 8);
  EXPECT_EQ(RowEnding(spec, "pre_moe_norm.scale")->param, "pre_moe_norm.weight");
  EXPECT_EQ(RowEnding(spec, "model.norm.scale")->placement, Placement::kEveryStage);
  EXPECT_EQ(RowEnding(spec, "experts.{E}.linear_v")->split, Split::kExpertUp);
  EXPECT_EQ(RowEnding(spec, "experts.{E}.linear_1")->split, Split::kExpertDown);
  EXPECT_EQ(RowEnding(spec, "lm_head.weight"), nullptr);
}

TEST(Grok1, Refusals) {
  EXPECT_EQ(BuildError(With(TinyGrok1(), {{"num_experts_per_tok", 9}})),
            "config.json: num_experts_per_tok: more experts a token than experts");
}

}  // namespace
}  // namespace shardplan
