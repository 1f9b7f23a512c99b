#include <gtest/gtest.h>

#include "support/example_model.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::BuildError;
using testing_support::ExampleConfig;

const char kGlm4Moe[] = "zai-org__GLM-4.7";

TEST(Glm4Moe, Architecture) {
  const Architecture a = Build(ExampleConfig(kGlm4Moe)).arch;
  EXPECT_EQ(a.family, "glm4-moe");
  EXPECT_EQ(a.layers(), 92);
  EXPECT_EQ(a.moe.first_dense, 3);
  EXPECT_EQ(a.mtp_layers, 1);
  EXPECT_EQ(a.rotary.dim, 64);
}

TEST(Glm4Moe, DraftLayersAreInTheFileOnly) {
  int draft = 0;
  for (const ModuleRow& row : Build(ExampleConfig(kGlm4Moe)).table.rows) {
    if (!row.layers.Contains(92)) continue;
    ++draft;
    EXPECT_EQ(row.role, Role::kDraft) << row.name;
    EXPECT_EQ(row.placement, Placement::kNotLoaded) << row.name;
  }
  EXPECT_GT(draft, 10);
}

TEST(Glm4Moe, OutputProjectionHasNoBias) {
  for (const ModuleRow& row : Build(ExampleConfig(kGlm4Moe)).table.rows) {
    if (row.name.ends_with("o_proj")) {
      EXPECT_FALSE(row.bias);
    }
    if (row.name.ends_with("self_attn.q_proj")) {
      EXPECT_TRUE(row.bias);
    }
  }
}

}  // namespace
}  // namespace shardplan
