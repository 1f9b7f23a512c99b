#include <gtest/gtest.h>

#include "support/example_model.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::ExampleConfig;

TEST(GlmMoeDsa, Architecture) {
  const Architecture a = Build(ExampleConfig("zai-org__GLM-5")).arch;
  EXPECT_EQ(a.family, "glm-moe-dsa");
  EXPECT_EQ(a.layers(), 78);
  EXPECT_EQ(a.head_dim, 256);
  EXPECT_EQ(a.mla.latent_width(), 576);
  EXPECT_EQ(a.indexer.heads, 32);
  EXPECT_EQ(a.indexer_layers.size(), 78u);
  EXPECT_FALSE(a.rotary.yarn);
  EXPECT_EQ(a.rotary.tables, 1);
}

// 5.2 has an indexer on 21 layers, and one in its MTP layer.
TEST(GlmMoeDsa, SharedIndexersAreNotStored) {
  const ModelSpec spec = Build(ExampleConfig("zai-org__GLM-5.2"));
  int64_t stored = 0;
  for (const ModuleRow& row : spec.table.rows) {
    if (!row.name.ends_with("indexer.wq_b")) continue;
    stored += row.Count();
    EXPECT_FALSE(row.layers.Contains(3));
  }
  EXPECT_EQ(stored, 22);
}

TEST(GlmMoeDsa, TheDraftLayerSharesEmbeddingAndHeadUnlessToldOtherwise) {
  Assumptions own;
  own.mtp_embed = true;
  const nlohmann::json config = ExampleConfig("zai-org__GLM-5");
  const int64_t more =
      Totals(Build(config, own).table).parameters - Totals(Build(config).table).parameters;
  EXPECT_EQ(more, 2 * 154'880 * 6144);
}

}  // namespace
}  // namespace shardplan
