#include <gtest/gtest.h>

#include "support/example_model.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::BuildError;
using testing_support::ExampleConfig;

const char kKimiLinear[] = "moonshotai__Kimi-Linear-48B-A3B";

TEST(KimiLinear, AMillionPositionsWhereTheConfigSaysNone) {
  nlohmann::json config = ExampleConfig(kKimiLinear);
  config.erase("max_position_embeddings");
  EXPECT_EQ(Build(config).arch.max_positions, 1 << 20);
  config["model_max_length"] = 4096;
  EXPECT_EQ(Build(config).arch.max_positions, 4096);
}

TEST(KimiLinear, Architecture) {
  const Architecture a = Build(ExampleConfig(kKimiLinear)).arch;
  EXPECT_EQ(a.family, "kimi-linear");
  EXPECT_EQ(a.layers(), 27);
  EXPECT_EQ(a.CountKind(AttentionKind::kMla, 0, 27), 7);
  EXPECT_EQ(a.attention[26], AttentionKind::kMla);
  EXPECT_EQ(a.max_positions, 1'048'576);
  EXPECT_EQ(a.rotary.dim, 0);  // NoPE
  EXPECT_EQ(a.mla.q_lora_rank, 0);
  EXPECT_EQ(a.moe.latent, 0);
  EXPECT_TRUE(a.is_hybrid());
}

TEST(KimiLinear, PositionsOfTheModelComeFirst) {
  nlohmann::json config = ExampleConfig(kKimiLinear);
  config["max_position_embeddings"] = 4096;
  config["mla_use_nope"] = false;
  const Architecture a = Build(config).arch;
  EXPECT_EQ(a.max_positions, 4096);
  EXPECT_EQ(a.rotary.dim, 64);
}

// The output gate is of low rank, and A_log is stored in four dimensions.
TEST(KimiLinear, DeltaAttention) {
  bool gate = false;
  bool a_log = false;
  for (const ModuleRow& row : Build(ExampleConfig(kKimiLinear)).table.rows) {
    if (row.name.ends_with("g_a_proj")) {
      gate = true;
      EXPECT_EQ(row.shape, (Shape{128, 2304}));
      EXPECT_EQ(row.split, Split::kReplicated);
    }
    if (row.name.ends_with("A_log")) {
      a_log = true;
      EXPECT_EQ(row.shape, (Shape{1, 1, 32, 1}));
      EXPECT_EQ(row.device_shape, (Shape{32}));
    }
    EXPECT_FALSE(row.name.ends_with("self_attn.g_proj"));
  }
  EXPECT_TRUE(gate && a_log);
}

// Unlike DeepSeek's class, Kimi's creates plain queries first.
TEST(KimiLinear, PlainQueriesComeBeforeTheLatent) {
  std::vector<std::string> names;
  for (const ModuleRow& row : Build(ExampleConfig(kKimiLinear)).table.rows) {
    if (row.role == Role::kAttention) names.push_back(row.param);
  }
  ASSERT_GE(names.size(), 2u);
  EXPECT_EQ(names[0], "self_attn.q_proj");
  EXPECT_EQ(names[1], "self_attn.kv_a_proj_with_mqa");
}

TEST(KimiLinear, Refusals) {
  nlohmann::json config = ExampleConfig(kKimiLinear);
  config["num_experts_per_token"] = 257;
  EXPECT_EQ(BuildError(config),
            "config.json: num_experts_per_token: more experts a token than experts");
  config = ExampleConfig(kKimiLinear);
  config["moe_layer_freq"] = 2;
  EXPECT_EQ(BuildError(config),
            "config.json: moe_layer_freq: expected 1: every layer after the dense ones is MoE");
  config = ExampleConfig(kKimiLinear);
  config["model_max_length"] = 0;
  EXPECT_EQ(BuildError(config),
            "config.json: model_max_length: expected an integer from 1 to 4,294,967,296, found 0");
}

}  // namespace
}  // namespace shardplan
