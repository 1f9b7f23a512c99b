#include <gtest/gtest.h>

#include "support/example_model.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::BuildError;
using testing_support::ExampleConfig;

const char kMixtral[] = "mistralai__Mixtral-8x7B-v0.1";

TEST(Mixtral, Architecture) {
  const Architecture a = Build(ExampleConfig(kMixtral)).arch;
  EXPECT_EQ(a.family, "mixtral");
  EXPECT_EQ(a.moe.experts, 8);
  EXPECT_EQ(a.moe.intermediate, 14336);
  EXPECT_EQ(a.dense_intermediate, 0);
  EXPECT_EQ(a.moe.shared_intermediate, 0);
}

TEST(Mixtral, Refusals) {
  nlohmann::json config = ExampleConfig(kMixtral);
  config["sliding_window"] = 4096;
  EXPECT_EQ(BuildError(config),
            "config.json: sliding_window: sliding-window layers are not modelled");
  config = ExampleConfig(kMixtral);
  config["num_experts_per_tok"] = 9;
  EXPECT_EQ(BuildError(config),
            "config.json: num_experts_per_tok: more experts a token than experts");
}

}  // namespace
}  // namespace shardplan
