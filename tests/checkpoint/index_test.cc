#include "checkpoint/index.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace shardplan {
namespace {

Result<ParsedIndex> ParseEntries(std::string_view text) {
  return ParseIndex("m.index.json", PaddedText(text));
}

std::string IndexError(std::string_view text) {
  const auto index = ParseEntries(text);
  if (index) return "no error";
  EXPECT_EQ(index.error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(index.error().subject, "m.index.json");
  EXPECT_EQ(index.error().ToString().find('\n'), std::string::npos);
  return index.error().message;
}

TEST(IndexTest, ReadsTheUsualForm) {
  const auto index = ParseEntries(R"({
  "metadata": {
    "total_parameters": 12,
    "total_size": 24
  },
  "weight_map": {
    "l.0.w": "b.safetensors",
    "l.1.w": "a.safetensors",
    "n": "b.safetensors"
  }
}
)");
  ASSERT_TRUE(index) << index.error().ToString();
  EXPECT_EQ(index->total_size, 24);
  EXPECT_EQ(index->bad_total_size, "");
  EXPECT_EQ(index->patterns, (std::vector<std::string>{"l.{}.w", "n"}));
  EXPECT_EQ(index->shard_names, (std::vector<std::string>{"b.safetensors", "a.safetensors"}));
  ASSERT_EQ(index->entries.size(), 3u);
  EXPECT_EQ(index->entries[1].indices, (NameIndices{1, -1, -1}));
  EXPECT_EQ(index->entries[1].shard, 1u);
  EXPECT_EQ(index->entries[2].pattern, 1u);
  EXPECT_EQ(index->entries[2].shard, 0u);
}

TEST(IndexTest, MetadataIsFree) {
  const std::string_view rest = R"(,"weight_map":{"a":"b"}})";
  const auto total = [&](std::string_view metadata) {
    const auto index = ParseEntries(R"({"metadata":)" + std::string(metadata) + std::string(rest));
    if (!index) return index.error().message;
    if (index->total_size) return std::to_string(*index->total_size);
    return "bad: " + index->bad_total_size;
  };
  EXPECT_EQ(total(R"({"total_size":7})"), "7");
  EXPECT_EQ(total(R"({"x":[1,{"y":null}],"total_size":7,"z":true})"), "7");
  EXPECT_EQ(total(R"({})"), "bad: ");
  EXPECT_EQ(total(R"(null)"), "bad: ");
  EXPECT_EQ(total(R"([1,"two",3.5e10,false,-7])"), "bad: ");
  EXPECT_EQ(total(R"({"total_size":"7"})"), "bad: \"7\"");
  EXPECT_EQ(total(R"({"total_size":7.0})"), "bad: 7.0");
  EXPECT_EQ(total(R"({"total_size":-7})"), "bad: -7");
  EXPECT_EQ(total(R"({"total_size":1e400})"),
            "expected a JSON index, found malformed JSON near byte 26");
  EXPECT_EQ(total(R"({"total_size":99999999999999999999})"), "bad: 99999999999999999999");
  EXPECT_EQ(total(R"({"total_size":{"a":1}})"), "bad: {");
  EXPECT_EQ(total(R"({"total_size":1,"total_size":2})"), "2");
}

TEST(IndexTest, WeightMapMayComeFirst) {
  EXPECT_TRUE(ParseEntries(R"({"weight_map":{"a":"b"},"metadata":{"total_size":1},"more":[[]]})"));
}

TEST(IndexTest, UnescapesNames) {
  const auto index = ParseEntries(R"({"weight_map":{"a\u002e7":"b\u0020c"}})");
  ASSERT_TRUE(index) << index.error().ToString();
  EXPECT_EQ(index->patterns[0], "a.{}");
  EXPECT_EQ(index->shard_names[0], "b c");
}

struct BadIndex {
  std::string_view text;
  std::string_view error;
};

TEST(IndexTest, RefusesWhatIsNoIndex) {
  const BadIndex table[] = {
      {"", "expected a JSON index, found nothing but blanks"},
      {"[]", "expected a JSON index, found text that begins with '['"},
      {"\"weight_map\"", "expected a JSON index, found text that begins with '\"'"},
      {"{}", "expected a weight_map, found none"},
      {R"({"metadata":{}})", "expected a weight_map, found none"},
      {R"({"weight_map":{}})", "expected tensors in weight_map, found none"},
      {R"({"weight_map":[]})", "expected weight_map to be an object, found ["},
      {R"({"weight_map":"x"})", "expected weight_map to be an object, found \"x\""},
      {R"({"weight_map":{"a":"b"},"weight_map":{"c":"d"}})",
       "expected weight_map once, found it twice"},
      {R"({"weight_map":{"a.3":7}})", "tensor a.3: expected a file name, found 7"},
      {R"({"weight_map":{"a.3":null}})", "tensor a.3: expected a file name, found null"},
      {R"({"weight_map":{"a.3":["b"]}})", "tensor a.3: expected a file name, found ["},
      {R"({"weight_map":{"a.3":"b","c":"b","a.3":"b"}})",
       "tensor a.3: expected once in weight_map, found twice"},
      {R"({"weight_map":{"a.3":"b","c":"b","a.\u0033":"d"}})",
       "tensor a.3: expected once in weight_map, found twice"},
      {R"({"weight_map":{"a":"b"}} x)",
       "expected a JSON index, found text that ends with 'x' instead of '}'"},
      {R"({"weight_map":{"a":"b"}}{})",
       "expected a JSON index, found more text after its closing brace"},
      {R"({"weight_map":{"a":"b",}})", "expected a JSON index, found malformed JSON near byte 23"},
      {R"({"weight_map":{"a" "b"}})", "expected a JSON index, found malformed JSON near byte 19"},
      {R"({"x":[1 2],"weight_map":{"a":"b"}})",
       "expected a JSON index, found malformed JSON near byte 8"},
      {R"({"x":tru,"weight_map":{"a":"b"}})",
       "expected a JSON index, found malformed JSON near byte 5"},
      {R"({"x":nul,"weight_map":{"a":"b"}})",
       "expected a JSON index, found malformed JSON near byte 5"},
      {R"({"x":01,"weight_map":{"a":"b"}})",
       "expected a JSON index, found malformed JSON near byte 5"},
      {R"({"x":"\q","weight_map":{"a":"b"}})",
       "expected a JSON index, found a string with a bad escape near byte 9"},
  };
  for (const BadIndex& bad : table) EXPECT_EQ(IndexError(bad.text), bad.error) << bad.text;
}

TEST(IndexTest, RefusesToLeaveTheDirectory) {
  const auto with_file = [](std::string_view file) {
    return R"({"weight_map":{"w":")" + std::string(file) + R"("}})";
  };
  for (const std::string_view file :
       {"../x.safetensors", "/etc/passwd", "a/b.safetensors", "..", ".", "./x", "x/", ""}) {
    EXPECT_EQ(IndexError(with_file(file)),
              "tensor w: expected the plain name of a file in the same directory, found '" +
                  std::string(file) + "'");
  }
  EXPECT_EQ(IndexError(with_file("a\\u0000b")),
            "tensor w: expected the plain name of a file in the same directory, found 'a\\x00b'");
  EXPECT_EQ(IndexError(with_file("..\\/x")),
            "tensor w: expected the plain name of a file in the same directory, found '../x'");
  EXPECT_EQ(ParseEntries(with_file("../x")).error().hint,
            "an index must not point outside of its directory; do not trust this one");
  EXPECT_TRUE(ParseEntries(with_file("..x")));
}

TEST(IndexTest, EveryTruncationIsAnError) {
  const std::string whole =
      R"({"metadata":{"total_size":24,"x":[true,null,"\n"]},"weight_map":{"a.0":"b"}})";
  ASSERT_TRUE(ParseEntries(whole));
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(ParseEntries(std::string_view(whole).substr(0, size))) << size;
  }
}

TEST(IndexTest, DeepNestingIsAnErrorNotACrash) {
  for (const std::string_view open : {"[", "{\"x\":"}) {
    std::string deep;
    for (int level = 0; level < 10000; ++level) deep += open;
    std::string close;
    for (int level = 0; level < 10000; ++level) close += open == "[" ? "]" : "}";
    const std::string value = open == "[" ? deep + close : deep + "1" + close;
    EXPECT_EQ(IndexError(R"({"metadata":)" + value + R"(,"weight_map":{"a":"b"}})").substr(0, 50),
              "expected a JSON index, found JSON nested too deepl");
    EXPECT_FALSE(ParseEntries(R"({"x":)" + value + R"(,"weight_map":{"a":"b"}})"));
    EXPECT_FALSE(ParseEntries(R"({"weight_map":)" + value + "}"));
    EXPECT_FALSE(ParseEntries(R"({"weight_map":{"a":)" + value + "}}"));
    EXPECT_FALSE(ParseEntries(deep));
  }
}

}  // namespace
}  // namespace shardplan
