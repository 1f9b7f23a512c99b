#include <gtest/gtest.h>

#include <map>

#include "support/example_model.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::BuildError;
using testing_support::ExampleConfig;

TEST(GptOss, Architecture) {
  const Architecture a = Build(ExampleConfig("openai__gpt-oss-20b")).arch;
  EXPECT_EQ(a.family, "gpt-oss");
  EXPECT_EQ(a.layers(), 24);
  EXPECT_EQ(a.CountKind(AttentionKind::kSliding, 0, 24), 12);
  EXPECT_EQ(a.attention[0], AttentionKind::kSliding);
  EXPECT_EQ(a.window, 128);
  EXPECT_EQ(a.quantization, "mxfp4");
  EXPECT_EQ(a.moe.experts, 32);
  EXPECT_EQ(a.moe.top_k, 4);
  EXPECT_TRUE(a.rotary.yarn);
}

TEST(GptOss, ExpertsAreStacksOfBlocks) {
  const ModelSpec spec = Build(ExampleConfig("openai__gpt-oss-20b"));
  std::map<std::string, std::string> stored;
  for (const ModuleRow& row : spec.table.rows) {
    if (row.role != Role::kRoutedExpert) continue;
    ForEachTensor(row, 0, [&](const std::string& name, const StoredTensor& tensor) {
      stored[name] = std::string(NameOf(tensor.dtype)) + " " + tensor.shape.ToString();
    });
  }
  const std::string p = "model.layers.0.mlp.experts.";
  EXPECT_EQ(stored, (std::map<std::string, std::string>{
                        {p + "gate_up_proj_blocks", "U8 [32, 5760, 90, 16]"},
                        {p + "gate_up_proj_scales", "U8 [32, 5760, 90]"},
                        {p + "gate_up_proj_bias", "BF16 [32, 5760]"},
                        {p + "down_proj_blocks", "U8 [32, 2880, 90, 16]"},
                        {p + "down_proj_scales", "U8 [32, 2880, 90]"},
                        {p + "down_proj_bias", "BF16 [32, 2880]"}}));
}

TEST(GptOss, Contradictions) {
  nlohmann::json config = ExampleConfig("openai__gpt-oss-20b");
  config["layer_types"].erase(0);
  EXPECT_EQ(BuildError(config), "config.json: layer_types: expected one entry a layer");
  config = ExampleConfig("openai__gpt-oss-20b");
  config["layer_types"][3] = "linear_attention";
  EXPECT_EQ(BuildError(config),
            "config.json: layer_types: expected full_attention and sliding_attention");
  config = ExampleConfig("openai__gpt-oss-20b");
  config.erase("sliding_window");
  EXPECT_EQ(
      BuildError(config),
      "config.json: sliding_window: expected an integer from 1 to 4,294,967,296, found nothing");
}

}  // namespace
}  // namespace shardplan
