#include <gtest/gtest.h>

#include "support/example_model.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::BuildError;
using testing_support::ExampleConfig;

const char kMinimaxM2[] = "MiniMaxAI__MiniMax-M2.5";

TEST(MinimaxM2, Architecture) {
  const ModelSpec spec = Build(ExampleConfig(kMinimaxM2));
  EXPECT_EQ(spec.arch.family, "minimax-m2");
  EXPECT_EQ(spec.arch.moe.experts, 256);
  EXPECT_EQ(spec.arch.rotary.dim, 64);
  ASSERT_EQ(spec.findings.size(), 1u);
  EXPECT_EQ(spec.findings[0].id, "model.mtp_absent");
}

TEST(MinimaxM2, NormsSpanAllHeadsAndTheRouterIsFp32OnTheCard) {
  for (const ModuleRow& row : Build(ExampleConfig(kMinimaxM2)).table.rows) {
    if (row.name.ends_with("q_norm.weight")) {
      EXPECT_EQ(row.shape, (Shape{6144}));
      EXPECT_EQ(row.split, Split::kColumn);
    }
    if (row.name.ends_with("k_norm.weight")) {
      EXPECT_EQ(row.split, Split::kKvHeads);
    }
    if (row.name.ends_with("moe.gate")) {
      EXPECT_EQ(row.dtype, DType::kBF16);
      EXPECT_EQ(row.device_dtype, DType::kF32);
    }
  }
}

TEST(MinimaxM2, Refusals) {
  nlohmann::json config = ExampleConfig(kMinimaxM2);
  config["shared_intermediate_size"] = 64;
  EXPECT_EQ(BuildError(config),
            "config.json: shared_intermediate_size: expected 0: no shared expert is modelled");
}

}  // namespace
}  // namespace shardplan
