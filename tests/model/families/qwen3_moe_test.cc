#include <gtest/gtest.h>

#include "support/example_model.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::BuildError;
using testing_support::ExampleConfig;

const char kQwen3Moe[] = "Qwen__Qwen3-30B-A3B-FP8";

TEST(Qwen3Moe, Architecture) {
  const Architecture a = Build(ExampleConfig(kQwen3Moe)).arch;
  EXPECT_EQ(a.family, "qwen3-moe");
  EXPECT_EQ(a.quantization, "fp8");
  EXPECT_EQ(a.moe.experts, 128);
  EXPECT_EQ(a.moe.top_k, 8);
  EXPECT_EQ(a.kv_heads, 4);
  EXPECT_EQ(a.rotary.dim, 128);
}

TEST(Qwen3Moe, BuildsTheEndsOnEveryStage) {
  for (const ModuleRow& row : Build(ExampleConfig(kQwen3Moe)).table.rows) {
    if (!row.layers.empty()) continue;
    EXPECT_EQ(row.placement, Placement::kEveryStage) << row.name;
    EXPECT_FALSE(row.is_tower());
  }
}

TEST(Qwen3Moe, LayersMayBeDense) {
  nlohmann::json config = ExampleConfig(kQwen3Moe);
  config["mlp_only_layers"] = {3};
  const ModelSpec spec = Build(config);
  EXPECT_FALSE(spec.arch.is_moe(3));
  EXPECT_TRUE(spec.arch.is_moe(4));
  for (const ModuleRow& row : spec.table.rows) {
    if (row.role == Role::kDenseMlp) {
      EXPECT_EQ(row.layers.layers(), (std::vector<int64_t>{3}));
      EXPECT_EQ(row.quant.scheme, QuantScheme::kFp8Block);
    }
    if (row.role == Role::kRoutedExpert) {
      EXPECT_EQ(row.layers.size(), 47);
    }
  }
}

TEST(Qwen3Moe, Refusals) {
  nlohmann::json config = ExampleConfig(kQwen3Moe);
  config["use_sliding_window"] = true;
  EXPECT_EQ(BuildError(config),
            "config.json: use_sliding_window: sliding-window layers are not modelled");
}

}  // namespace
}  // namespace shardplan
