#include <gtest/gtest.h>

#include "support/example_model.h"
#include "support/model_rows.h"
#include "support/tiny_families.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::BuildError;
using testing_support::ExampleConfig;
using testing_support::RowEnding;
using testing_support::TinyNemotronH;
using testing_support::With;

TEST(NemotronH, BlocksByThePattern) {
  const Architecture a = Build(ExampleConfig("nemotron-3-nano")).arch;
  EXPECT_EQ(a.layers(), 52);
  EXPECT_EQ(a.CountKind(AttentionKind::kMamba2, 0, 52), 23);
  EXPECT_EQ(a.CountKind(AttentionKind::kFull, 0, 52), 6);
  EXPECT_EQ(a.CountKind(AttentionKind::kNone, 0, 52), 23);
  EXPECT_FALSE(a.is_moe(0));
  EXPECT_TRUE(a.is_moe(1));
  EXPECT_EQ(a.rotary.dim, 0);
  EXPECT_EQ(a.mamba.width, 64 * 64);
  EXPECT_EQ(a.mamba.state_dtype, DType::kF32);
  EXPECT_EQ(a.dense_intermediate, 0);
  EXPECT_EQ(Build(ExampleConfig("nemotron-h-56b")).arch.dense_intermediate, 32768);
}

TEST(NemotronH, BlocksMayBeNamed) {
  nlohmann::json config = TinyNemotronH();
  config.erase("hybrid_override_pattern");
  config.erase("mtp_hybrid_override_pattern");
  config.erase("num_hidden_layers");
  config["layers_block_type"] = {"mamba", "moe", "attention", "mlp", "mamba", "moe"};
  config["mtp_layers_block_type"] = {"attention", "moe"};
  EXPECT_EQ(Totals(Build(config).table).elements, Totals(Build(TinyNemotronH()).table).elements);
  config["layers_block_type"] = {"mamba", "conv"};
  EXPECT_EQ(BuildError(config),
            "config.json: layers_block_type: expected mamba, attention, moe and mlp, one a block");
}

TEST(NemotronH, ExpertsSeeTheLatentWidth) {
  const ModelSpec spec = Build(TinyNemotronH());
  EXPECT_EQ(spec.arch.moe.latent, 16);
  EXPECT_EQ(RowEnding(spec, "mixer.experts.{E}.up_proj")->shape, (Shape{24, 16}));
  EXPECT_EQ(RowEnding(spec, "mixer.experts.{E}.gate_proj"), nullptr);
  EXPECT_EQ(RowEnding(spec, "mixer.shared_experts.up_proj")->shape, (Shape{48, 32}));
  EXPECT_EQ(RowEnding(spec, "mixer.fc2_latent_proj")->shape, (Shape{32, 16}));
}

TEST(NemotronH, TheDraftIsInTheFileOnly) {
  int draft = 0;
  for (const ModuleRow& row : Build(TinyNemotronH()).table.rows) {
    if (!row.name.starts_with("mtp.")) continue;
    ++draft;
    EXPECT_EQ(row.placement, Placement::kNotLoaded) << row.name;
    // The first block fuses the token in, the last one ends with a norm.
    if (row.name.ends_with("eh_proj")) {
      EXPECT_EQ(row.layers.layers(), std::vector<int64_t>{0});
    }
    if (row.name.ends_with("final_layernorm.weight")) {
      EXPECT_EQ(row.layers.layers(), std::vector<int64_t>{1});
    }
  }
  EXPECT_GT(draft, 10);
  Assumptions none;
  none.mtp = false;
  EXPECT_EQ(RowEnding(Build(TinyNemotronH(), none), "eh_proj"), nullptr);
}

TEST(NemotronH, Refusals) {
  EXPECT_EQ(BuildError(With(TinyNemotronH(), {{"hybrid_override_pattern", "MX"}})),
            "config.json: hybrid_override_pattern: expected the letters M, *, E and -, one a "
            "block");
  EXPECT_EQ(BuildError(With(TinyNemotronH(), {{"num_hidden_layers", 7}})),
            "config.json: num_hidden_layers: is not the number of blocks in the pattern");
  EXPECT_EQ(BuildError(With(TinyNemotronH(), {{"sliding_window", 16}})),
            "config.json: sliding_window: sliding-window layers are not modelled");
  EXPECT_EQ(BuildError(With(TinyNemotronH(), {{"mtp_hybrid_override_pattern", "M"}})),
            "config.json: mtp_hybrid_override_pattern: expected attention and experts alone");
}

}  // namespace
}  // namespace shardplan
