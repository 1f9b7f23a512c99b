#include <gtest/gtest.h>

#include "support/example_model.h"
#include "support/model_rows.h"
#include "support/tiny_families.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::BuildError;
using testing_support::RowEnding;
using testing_support::TinyNemotronNas;
using testing_support::With;

TEST(NemotronNas, LayersLackWhatTheSearchTook) {
  const ModelSpec spec = Build(TinyNemotronNas());
  EXPECT_EQ(spec.arch.kv_heads, 2);
  EXPECT_EQ(spec.arch.attention[0], AttentionKind::kFull);
  EXPECT_EQ(spec.arch.attention[1], AttentionKind::kNone);
  EXPECT_EQ(RowEnding(spec, "self_attn.q_proj")->layers.layers(), (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(RowEnding(spec, "layers.{L}.input_layernorm.weight")->layers.layers(),
            (std::vector<int64_t>{0, 2}));
}

// A multiplier of two on 32 is 42, rounded up to 256; a width may be given as it is.
TEST(NemotronNas, WidthsAreTheLayersOwn) {
  const ModelSpec spec = Build(TinyNemotronNas());
  std::vector<int64_t> widths;
  for (const ModuleRow& row : spec.table.rows) {
    if (row.name.ends_with("gate_proj")) widths.push_back(row.shape.dims[0]);
  }
  EXPECT_EQ(widths, (std::vector<int64_t>{64, 256}));
  EXPECT_EQ(spec.arch.dense_intermediate, 256);
}

TEST(NemotronNas, Refusals) {
  nlohmann::json config = TinyNemotronNas();
  config["block_configs"].erase(2);
  EXPECT_EQ(BuildError(config), "config.json: block_configs: expected one entry a layer");
  config = TinyNemotronNas();
  config["block_configs"][2]["attention"]["n_heads_in_group"] = 8;
  EXPECT_EQ(BuildError(config),
            "config.json: block_configs[2].attention.n_heads_in_group: expected the same in every "
            "layer");
  config = TinyNemotronNas();
  config["block_configs"][0]["ffn"]["replace_with_linear"] = true;
  EXPECT_EQ(BuildError(config),
            "config.json: block_configs[0].ffn.replace_with_linear: expected false: vLLM has no "
            "such layers");
  config["block_configs"] = 3;
  EXPECT_EQ(BuildError(config),
            "config.json: block_configs: expected a list with one entry a layer");
}

}  // namespace
}  // namespace shardplan
