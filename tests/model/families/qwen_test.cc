#include <gtest/gtest.h>

#include "support/example_model.h"
#include "support/tiny_families.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::BuildError;
using testing_support::TinyQwen;
using testing_support::With;

const ModuleRow* Find(const ModelSpec& spec, const std::string& suffix) {
  for (const ModuleRow& row : spec.table.rows) {
    if (row.name.ends_with(suffix)) return &row;
  }
  return nullptr;
}

TEST(Qwen, MlpsAreHalfAsWideAsTheConfigSays) {
  const ModelSpec spec = Build(TinyQwen());
  EXPECT_EQ(spec.arch.family, "qwen");
  EXPECT_EQ(spec.arch.kv_heads, 8);
  EXPECT_EQ(spec.arch.dense_intermediate, 32);
  EXPECT_EQ(Find(spec, "mlp.w1")->shape, (Shape{32, 32}));
  EXPECT_EQ(Find(spec, "attn.c_attn")->shape, (Shape{3 * 64, 32}));
  EXPECT_TRUE(Find(spec, "attn.c_attn")->bias);
  EXPECT_FALSE(Find(spec, "attn.c_proj")->bias);
}

TEST(Qwen, Refusals) {
  EXPECT_EQ(BuildError(With(TinyQwen(), {{"intermediate_size", 63}})),
            "config.json: intermediate_size: expected even");
  EXPECT_EQ(BuildError(With(TinyQwen(), {{"no_bias", false}})),
            "config.json: no_bias: expected true: biases of the MLP are not modelled");
}

}  // namespace
}  // namespace shardplan
