#include <gtest/gtest.h>

#include "support/example_model.h"
#include "support/model_rows.h"
#include "support/tiny_families.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::BuildError;
using testing_support::RowEnding;
using testing_support::TinyQwen;
using testing_support::With;

TEST(Qwen, MlpsAreHalfAsWideAsTheConfigSays) {
  const ModelSpec spec = Build(TinyQwen());
  EXPECT_EQ(spec.arch.family, "qwen");
  EXPECT_EQ(spec.arch.kv_heads, 8);
  EXPECT_EQ(spec.arch.dense_intermediate, 32);
  EXPECT_EQ(RowEnding(spec, "mlp.w1")->shape, (Shape{32, 32}));
  EXPECT_EQ(RowEnding(spec, "attn.c_attn")->shape, (Shape{3 * 64, 32}));
  EXPECT_TRUE(RowEnding(spec, "attn.c_attn")->bias);
  EXPECT_FALSE(RowEnding(spec, "attn.c_proj")->bias);
}

TEST(Qwen, Refusals) {
  EXPECT_EQ(BuildError(With(TinyQwen(), {{"intermediate_size", 63}})),
            "config.json: intermediate_size: expected even");
  EXPECT_EQ(BuildError(With(TinyQwen(), {{"no_bias", false}})),
            "config.json: no_bias: expected true: biases of the MLP are not modelled");
}

}  // namespace
}  // namespace shardplan
