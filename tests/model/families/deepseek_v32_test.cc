#include <gtest/gtest.h>

#include <map>

#include "support/example_model.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::BuildError;
using testing_support::ExampleConfig;

const char kDeepseekV32[] = "deepseek-ai__DeepSeek-V3.2";

TEST(DeepseekV32, Architecture) {
  const Architecture a = Build(ExampleConfig(kDeepseekV32)).arch;
  EXPECT_EQ(a.family, "deepseek-v3.2");
  EXPECT_EQ(a.quantization, "fp8");
  EXPECT_EQ(a.indexer.heads, 64);
  EXPECT_EQ(a.indexer.head_dim, 128);
  EXPECT_EQ(a.indexer.top_k, 2048);
  EXPECT_EQ(a.indexer_layers.size(), 61u);
  EXPECT_TRUE(a.rotary.yarn);
  EXPECT_EQ(a.rotary.tables, 2);
}

// FP8 in the file, plain on the card, where it is one parameter with the weights of the heads.
TEST(DeepseekV32, TheKeyProjectionIsPlainOnTheCard) {
  std::map<std::string, const ModuleRow*> rows;
  const ModelSpec spec = Build(ExampleConfig(kDeepseekV32));
  for (const ModuleRow& row : spec.table.rows) {
    if (row.layers.Contains(0)) rows[row.name] = &row;
  }
  const std::string indexer = "model.layers.{L}.self_attn.indexer.";
  const ModuleRow& key = *rows.at(indexer + "wk");
  EXPECT_EQ(key.quant.scheme, QuantScheme::kFp8Block);
  ASSERT_TRUE(key.device_quant.has_value());
  EXPECT_TRUE(key.device_quant->plain());
  const ModuleRow& weights = *rows.at(indexer + "weights_proj");
  EXPECT_EQ(weights.quant.scheme, QuantScheme::kPlain);
  EXPECT_EQ(weights.param, key.param);
  EXPECT_EQ(rows.at(indexer + "k_norm.bias")->device_dtype, DType::kF32);
}

TEST(DeepseekV32, DraftLayersHaveAnIndexer) {
  bool found = false;
  for (const ModuleRow& row : Build(ExampleConfig(kDeepseekV32)).table.rows) {
    if (!row.layers.Contains(61) || !row.name.ends_with("indexer.wq_b")) continue;
    EXPECT_EQ(row.placement, Placement::kNotLoaded);
    found = true;
  }
  EXPECT_TRUE(found);
}

TEST(DeepseekV32, Refusals) {
  nlohmann::json config = ExampleConfig(kDeepseekV32);
  config.erase("index_topk");
  EXPECT_EQ(BuildError(config),
            "config.json: index_topk: expected an integer from 1 to 16,777,216, found nothing");
}

}  // namespace
}  // namespace shardplan
