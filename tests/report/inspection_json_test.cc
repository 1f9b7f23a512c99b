#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/example_inspection.h"
#include "shardplan/report/inspection.h"

namespace shardplan {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;
using Json = nlohmann::ordered_json;
using testing_support::ExampleInspection;

TEST(InspectionJsonTest, FieldsAndTheirOrder) {
  const Json d = Json::parse(RenderInspectionJson(ExampleInspection()));
  std::vector<std::string> keys;
  for (const auto& [key, value] : d.items()) keys.push_back(key);
  EXPECT_THAT(keys,
              ElementsAre("schema_version", "source", "architecture", "family", "quantization",
                          "shape_basis", "complete", "tensors", "payload_bytes", "file_bytes",
                          "header_bytes", "parameters", "active_parameters", "elements", "by_dtype",
                          "by_role", "outside_layers", "layers", "stages", "largest", "shards",
                          "findings"));
  EXPECT_EQ(d["schema_version"], 1);
  EXPECT_EQ(d["tensors"], 1801);
  EXPECT_EQ(d["payload_bytes"], 10'737'418'240);
  EXPECT_EQ(d["file_bytes"], 10'737'422'336);
  EXPECT_EQ(d["header_bytes"], 4096);
  EXPECT_EQ(d["parameters"], 10'000);
  EXPECT_EQ(d["active_parameters"], 2500);
  EXPECT_EQ(d["elements"], 10'200);
}

TEST(InspectionJsonTest, Breakdowns) {
  const Json d = Json::parse(RenderInspectionJson(ExampleInspection()));
  EXPECT_EQ(
      d["by_dtype"]["BF16"],
      (Json{{"tensors", 1}, {"parameters", 1000}, {"elements", 1000}, {"bytes", 1'073'741'824}}));
  EXPECT_EQ(d["by_role"]["routed_expert"]["bytes"], 9'663'676'416);
  EXPECT_EQ(d["by_role"]["routed_expert"]["by_dtype"]["F32"]["bytes"], 1'073'741'824);
  EXPECT_EQ(d["outside_layers"]["embedding"]["tensors"], 1);
  EXPECT_EQ(d["layers"].size(), 9u);
  EXPECT_EQ(d["layers"][2], (Json{{"layer", 2},
                                  {"attention", "mla"},
                                  {"mlp", "moe"},
                                  {"tensors", 200},
                                  {"parameters", 1000},
                                  {"elements", 1022},
                                  {"bytes", 1'073'741'824}}));
  EXPECT_EQ(d["stages"][0], (Json{{"stage", 0},
                                  {"first_layer", 0},
                                  {"layer_count", 5},
                                  {"layers_bytes", 5'368'709'120},
                                  {"ends_bytes", 1'073'741'824},
                                  {"every_stage_bytes", 0},
                                  {"bytes", 6'442'450'944}}));
  EXPECT_EQ(d["largest"][1]["names"].size(), 2u);
  EXPECT_EQ(d["largest"][1]["tensor_bytes"], 9'437'184);
  EXPECT_EQ(d["largest"][1]["bytes"], 600 * 9'437'184LL);
  EXPECT_EQ(d["largest"][1]["shape"], Json::parse("[10, 5]"));
  EXPECT_EQ(d["shards"].size(), 3u);
  EXPECT_EQ(d["shards"][0]["name"], "model-00001-of-00003.safetensors");
  EXPECT_EQ(d["findings"][0]["id"], "checkpoint.no_index");
}

TEST(InspectionJsonTest, UnknownIsNull) {
  Inspection i = ExampleInspection();
  i.file_bytes.reset();
  i.header_bytes.reset();
  i.active_parameters.reset();
  i.quantization = "";
  i.shards.clear();
  const Json d = Json::parse(RenderInspectionJson(i));
  for (const char* key : {"file_bytes", "header_bytes", "active_parameters", "quantization"}) {
    EXPECT_TRUE(d[key].is_null()) << key;
  }
  EXPECT_EQ(d["shards"], Json::array());
}

TEST(InspectionJsonTest, Yaml) {
  EXPECT_THAT(RenderInspectionYaml(ExampleInspection()),
              StartsWith("schema_version: 1\nsource: \"/models/Tiny MoE\"\n"));
}

}  // namespace
}  // namespace shardplan
