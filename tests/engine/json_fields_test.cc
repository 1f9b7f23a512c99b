#include "engine/json_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shardplan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Fields(std::string_view json) {
  const auto fields = FieldsOf(json);
  if (!fields) return "error: " + fields.error().ToString();
  std::string out;
  for (const JsonField& field : *fields) {
    out += field.path + "=";
    for (const std::string& value : field.values) out += value + ",";
    out += " ";
  }
  return out;
}

TEST(JsonFieldsTest, LeavesOfAnObject) {
  EXPECT_EQ(Fields(R"({"mode": 3, "pass_config": {"fuse": true, "x": {}}, "sizes": [1, 2],
                       "m": "FULL", "n": null})"),
            "m=FULL, mode=3, n=null, pass_config.fuse=true, pass_config.x={}, sizes=1,2, ");
  EXPECT_EQ(Fields("{}"), "");
}

TEST(JsonFieldsTest, WhatIsNoObjectIsRefused) {
  const std::string hint =
      ": expected a JSON object; such as '{\"key\": \"value\"}', in single quotes";
  for (const char* text : {"[1]", "3", "{", "{method:mtp}", ""}) {
    EXPECT_EQ(Fields(text),
              "error: " + (*text ? std::string(text) : "") + (*text ? hint : hint.substr(2)))
        << text;
  }
  std::string deep(100'000, '[');
  EXPECT_THAT(Fields("{\"a\":" + deep), HasSubstr("expected a JSON object"));
  deep.clear();
  for (int i = 0; i < 40; ++i) deep += "{\"a\":";
  EXPECT_THAT(Fields(deep + "1" + std::string(40, '}')), HasSubstr("expected a JSON object"));
}

TEST(JsonFieldsTest, ObjectsGrowByFields) {
  JsonObject object;
  EXPECT_TRUE(object.Add("mode", "3"));
  EXPECT_TRUE(object.Add("pass_config.fuse", "true"));
  EXPECT_TRUE(object.Add("pass_config.name", "x y"));
  EXPECT_TRUE(object.Add("size", "80g"));
  EXPECT_TRUE(object.Add("list+", "a,b"));
  EXPECT_TRUE(object.Add("list+", "c"));
  EXPECT_TRUE(object.Add("mode", "{\"a\": 1}"));
  EXPECT_EQ(object.Text(), R"({"list":["a","b","c"],"mode":{"a":1},"pass_config":)"
                           R"({"fuse":true,"name":"x y"},"size":80000000000})");
  EXPECT_FALSE(object.Add("", "1"));
  EXPECT_FALSE(object.Add("a..b", "1"));
  EXPECT_FALSE(object.Add(std::string(1000, 'a') + std::string(100, '.'), "1"));
  std::string path = "a";
  for (int i = 0; i < 40; ++i) path += ".a";
  EXPECT_FALSE(object.Add(path, "1"));
  EXPECT_FALSE(object.Add("a", std::string(1000, '[')));
}

TEST(JsonFieldsTest, YamlAsWords) {
  const auto words = WordsOfYaml(
      "model: a/b\n"
      "tensor-parallel-size: 8\n"
      "gpu_memory_utilization: 0.90\n"
      "enforce-eager: true\n"
      "enable-prefix-caching: false\n"
      "served-model-name: \"true\"\n"
      "cpu-offload-params: [w13_weight, w2_weight]\n"
      "middleware: []\n"
      "speculative-config:\n  method: mtp\n  num_speculative_tokens: 3\n  on: yes\n  s: '7'\n");
  ASSERT_TRUE(words.has_value()) << words.error().ToString();
  EXPECT_THAT(
      *words,
      ElementsAre("--model", "a/b", "--tensor-parallel-size", "8", "--gpu_memory_utilization",
                  "0.90", "--enforce-eager", "--served-model-name", "true", "--cpu-offload-params",
                  "w13_weight", "w2_weight", "--speculative-config",
                  R"({"method":"mtp","num_speculative_tokens":3,"on":true,"s":"7"})"));
}

TEST(JsonFieldsTest, HostileYaml) {
  const auto error = [](const std::string& text) {
    const auto words = WordsOfYaml(text);
    return words ? std::string("none") : words.error().ToString();
  };
  EXPECT_EQ(error("- a\n"), "expected a YAML mapping of flags to values");
  EXPECT_EQ(error(""), "expected a YAML mapping of flags to values");
  EXPECT_THAT(error("a: [1\nb: {"), HasSubstr("line "));
  EXPECT_THAT(error("a: " + std::string(40, '[') + std::string(40, ']')),
              HasSubstr("nested deeper than 32"));
  EXPECT_NE(error("a: " + std::string(100'000, '[')), "none");
  EXPECT_NE(error("? [a, b]\n: c\n"), "none");
}

}  // namespace
}  // namespace shardplan
