#include <gtest/gtest.h>

#include "support/tiny_models.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::BuildError;
using testing_support::ExampleConfig;
using testing_support::TinyQwen3Next;

const char kQwen3Next[] = "Qwen__Qwen3-Next-80B-A3B-Instruct";

TEST(Qwen3Next, Architecture) {
  const Architecture a = Build(ExampleConfig(kQwen3Next)).arch;
  EXPECT_EQ(a.family, "qwen3-next");
  EXPECT_TRUE(a.is_hybrid());
  EXPECT_EQ(a.CountKind(AttentionKind::kGdn, 0, 48), 36);
  EXPECT_EQ(a.attention[3], AttentionKind::kFull);
  EXPECT_EQ(a.gdn.key_width(), 2048);
  EXPECT_EQ(a.gdn.value_width(), 4096);
  EXPECT_EQ(a.gdn.conv_kernel, 4);
  EXPECT_FALSE(a.gdn.state_dtype.has_value());
  EXPECT_EQ(a.moe.experts, 512);
  EXPECT_EQ(a.moe.shared_intermediate, 512);
  EXPECT_EQ(a.rotary.dim, 64);  // a quarter of the head
  EXPECT_EQ(a.rotary.positions, 262144);
  EXPECT_EQ(a.mtp_layers, 0);  // announced by nobody
}

TEST(Qwen3Next, EndsStandOnEveryStageAndTheNormOnTheLast) {
  for (const ModuleRow& row : Build(ExampleConfig(kQwen3Next)).table.rows) {
    if (!row.layers.empty() || row.role == Role::kDraft) continue;
    const bool norm = row.name == "model.norm.weight";
    EXPECT_EQ(row.placement, norm ? Placement::kLastStage : Placement::kEveryStage) << row.name;
  }
}

TEST(Qwen3Next, LayersMayBeDense) {
  const ModelSpec spec = Build(TinyQwen3Next());
  EXPECT_FALSE(spec.arch.is_moe(2));
  EXPECT_TRUE(spec.arch.is_moe(3));
  int64_t dense = 0;
  for (const ModuleRow& row : spec.table.rows) {
    if (row.role == Role::kDenseMlp) dense += row.layers.size();
    if (row.name.ends_with("mlp.gate")) {
      EXPECT_FALSE(row.layers.Contains(2));
    }
  }
  EXPECT_EQ(dense, 3);  // gate, up and down of one layer
}

TEST(Qwen3Next, Refusals) {
  nlohmann::json config = TinyQwen3Next();
  config["tie_word_embeddings"] = true;
  EXPECT_EQ(BuildError(config),
            "config.json: tie_word_embeddings: expected false: the head is a tensor of its own");
}

}  // namespace
}  // namespace shardplan
