#include "model/config_reader.h"

#include <gtest/gtest.h>

namespace shardplan {
namespace {

std::string ParseError(std::string_view text) {
  const auto parsed = ParseConfigObject(text, "config.json");
  return parsed ? "parsed" : parsed.error().ToString();
}

TEST(ParseConfig, RefusesWhatIsNoObject) {
  EXPECT_EQ(ParseError("{}"), "parsed");
  EXPECT_EQ(ParseError("\xEF\xBB\xBF{}"), "parsed");
  EXPECT_EQ(ParseError(""), "config.json: expected JSON, the file is empty; fetch the file again");
  EXPECT_EQ(ParseError("{"), "config.json: expected JSON, could not parse; fetch the file again");
  EXPECT_EQ(ParseError("[1]"), "config.json: expected a JSON object, found array");
  EXPECT_EQ(ParseError("3"), "config.json: expected a JSON object, found number");
  EXPECT_EQ(ParseError("{\"a\": \"\xff\"}"),
            "config.json: expected JSON, could not parse; fetch the file again");
}

TEST(ParseConfig, BoundsDepthBeforeParsing) {
  std::string deep;
  for (int i = 0; i < 10'000; ++i) deep += "{\"a\":";
  EXPECT_EQ(ParseError(deep), "config.json: expected JSON at most 64 levels deep, found 10000");
  EXPECT_EQ(ParseError("{\"a\": \"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
                       "[[[[[[[[[[[[[[[[[[[[[[[[[[[[\\\"[[\"}"),
            "parsed");
}

TEST(ParseConfig, RefusesKeysThatStandTwice) {
  EXPECT_EQ(ParseError(R"({"a": 1, "b": {"a": 2}, "c": [{"a": 1}, {"a": 2}]})"), "parsed");
  EXPECT_EQ(ParseError(R"({"hidden_size": 1, "x": {}, "hidden_size": 64})"),
            "config.json: the key 'hidden_size' stands twice in one object; keep the one that is "
            "meant");
  EXPECT_EQ(ParseError(R"({"text": {"n": 1, "n": 1}})"),
            "config.json: the key 'n' stands twice in one object; keep the one that is meant");
}

class ReaderTest : public ::testing::Test {
 protected:
  std::string IntError(const char* json) {
    const nlohmann::json object = nlohmann::json::parse(json);
    ConfigReader reader(object, "config.json", "text_config.");
    reader.Int("n", 1, 4096);
    return reader.ok() ? "ok" : reader.error().ToString();
  }
};

TEST_F(ReaderTest, IntegersWithinBounds) {
  EXPECT_EQ(IntError(R"({"n": 4096})"), "ok");
  const std::string expected = "config.json: text_config.n: expected an integer from 1 to 4,096, ";
  EXPECT_EQ(IntError(R"({"n": -1})"), expected + "found -1");
  EXPECT_EQ(IntError(R"({"n": 4097})"), expected + "found 4097");
  EXPECT_EQ(IntError(R"({"n": 18446744073709551615})"), expected + "found 18446744073709551615");
  EXPECT_EQ(IntError(R"({"n": 2.5})"), expected + "found 2.5");
  EXPECT_EQ(IntError(R"({"n": 1e300})"), expected + "found 1e+300");
  EXPECT_EQ(IntError(R"({"n": "64"})"), expected + "found \"64\"");
  EXPECT_EQ(IntError(R"({"n": null})"), expected + "found nothing");
  EXPECT_EQ(IntError("{}"), expected + "found nothing");
}

TEST(ConfigReader, KeepsTheFirstProblem) {
  const nlohmann::json object = {{"a", -1}, {"b", -2}};
  ConfigReader reader(object, "config.json");
  EXPECT_EQ(reader.Dim("a"), 1);
  EXPECT_EQ(reader.Dim("b"), 1);
  EXPECT_EQ(reader.error().ToString(),
            "config.json: a: expected an integer from 1 to 16,777,216, found -1");
}

TEST(ConfigReader, AbsentMeansTheDefault) {
  const nlohmann::json object = {{"null", nullptr}};
  ConfigReader reader(object, "config.json");
  EXPECT_EQ(reader.DimOr("null", 7), 7);
  EXPECT_EQ(reader.DimOr("none", 7), 7);
  EXPECT_TRUE(reader.BoolOr("none", true));
  EXPECT_EQ(reader.StringOr("none", "x"), "x");
  EXPECT_FALSE(reader.Has("null"));
  EXPECT_TRUE(reader.ok());
}

TEST(ConfigReader, NestedObjectsCarryTheirPath) {
  const nlohmann::json object = {{"inner", {{"list", {1, 2, 300}}}}, {"flat", 3}};
  ConfigReader reader(object, "config.json");
  ConfigReader inner = reader.Object("inner");
  EXPECT_EQ(inner.IntList("list", 1, 300), (std::vector<int64_t>{1, 2, 300}));
  inner.IntList("list", 1, 93);
  reader.Adopt(inner);
  EXPECT_EQ(reader.error().ToString(),
            "config.json: inner.list: expected a list of integers from 1 to 93, found 300");
  ConfigReader other(object, "config.json");
  other.Object("flat");
  EXPECT_EQ(other.error().ToString(), "config.json: flat: expected an object, found 3");
}

TEST(ConfigReader, HostileValuesPrintSafely) {
  const nlohmann::json object = {{"n", std::string("\x1b[31m") + std::string(500, 'x')}};
  ConfigReader reader(object, "config.json");
  reader.Dim("n");
  const std::string text = reader.error().ToString();
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_LT(text.size(), 200u);
}

TEST(ParseConfigObject, PythonsFloatsAreAbsent) {
  const auto parsed = ParseConfigObject(
      R"({"a": [0.0, Infinity], "b": -Infinity, "c": NaN, "Infinity": "NaN \\", "d\"": "Infinity"})",
      "config.json");
  ASSERT_TRUE(parsed.has_value()) << parsed.error().ToString();
  EXPECT_EQ(parsed->dump(),
            R"({"Infinity":"NaN \\","a":[0.0,null],"b":null,"c":null,"d\"":"Infinity"})");
  EXPECT_FALSE(ParseConfigObject(R"({"a": Infinite})", "config.json").has_value());
  EXPECT_FALSE(ParseConfigObject(R"({"a": NaN1})", "config.json").has_value());
}

}  // namespace
}  // namespace shardplan
