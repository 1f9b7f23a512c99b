#include "checkpoint/json_input.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardplan {
namespace {

namespace ondemand = simdjson::ondemand;

// Visits the whole of `text` and returns what it found: "key kind value" of each field of the root,
// or the error.
std::string Read(std::string_view text) {
  const PaddedText padded(text);
  ondemand::parser parser;
  ondemand::document document;
  Result<ondemand::object> root = OpenJsonObject("f", "a map", padded, parser, document);
  if (!root) return root.error().ToString();
  std::string out;
  const auto fail = [&](simdjson::error_code code) {
    return MalformedJson("f", "a map", code, padded, &document).value().ToString();
  };
  for (auto result : *root) {
    ondemand::field field;
    if (const auto code = std::move(result).get(field)) return fail(code);
    std::string_view key;
    if (const auto code = KeyOf(field, &key)) return fail(code);
    out += key;
    ondemand::value value = field.value();
    const std::string token(TokenOf(value));
    std::string_view string;
    int64_t number = 0;
    if (token.starts_with('"')) {
      if (const auto code = StringOf(value, &string)) return fail(code);
      out += " string " + std::string(string);
    } else if (token.starts_with('[') || token.starts_with('{')) {
      if (const auto code = Skip(value)) return fail(code);
      out += " skipped";
    } else if (NaturalOf(value, &number) == simdjson::SUCCESS) {
      out += " number " + std::to_string(number);
    } else {
      if (const auto code = Skip(value)) return fail(code);
      out += " other " + token;
    }
    out += "\n";
  }
  if (const Status end = FinishJson("f", "a map", document); !end) return end.error().ToString();
  return out;
}

TEST(JsonInputTest, KeysAndStrings) {
  EXPECT_EQ(Read("{}"), "");
  EXPECT_EQ(Read(R"( {"a":"b","":"","q\"\u00e9":"\\\n"} )"),
            "a string b\n string \nq\"\u00e9 string \\\n\n");
}

TEST(JsonInputTest, Naturals) {
  EXPECT_EQ(Read(R"({"a":0,"b":9223372036854775807})"),
            "a number 0\nb number 9223372036854775807\n");
  EXPECT_EQ(Read(R"({"a":9223372036854775808,"b":-1,"c":1.5,"d":true,"e":null})"),
            "a other 9223372036854775808\nb other -1\nc other 1.5\nd other true\ne other null\n");
}

TEST(JsonInputTest, WhatIsSkippedIsChecked) {
  EXPECT_EQ(Read(R"({"a":[1,{"b":[null,"x",false,-1.5e3]},[]],"c":{}})"), "a skipped\nc skipped\n");
  for (const std::string_view bad : {R"({"a":[1,]})", R"({"a":[nul]})", R"({"a":[1 2]})",
                                     R"({"a":{"b"}})", R"({"a":[01]})", R"({"a":["\x"]})"}) {
    EXPECT_TRUE(Read(bad).starts_with("f: expected a map, found ")) << bad << ": " << Read(bad);
  }
}

TEST(JsonInputTest, Depth) {
  const auto nested = [](size_t depth) {
    return R"({"a":)" + std::string(depth, '[') + std::string(depth, ']') + "}";
  };
  EXPECT_EQ(Read(nested(64)), "a skipped\n");
  EXPECT_TRUE(Read(nested(65)).starts_with("f: expected a map, found JSON nested too deeply"));
  EXPECT_TRUE(Read(nested(100'000)).starts_with("f: expected a map, found "));
}

TEST(JsonInputTest, WhatIsNoObject) {
  const std::string fix = "; the file is corrupt; fetch it again";
  EXPECT_EQ(Read(""), "f: expected a map, found nothing but blanks" + fix);
  EXPECT_EQ(Read(" \n\t"), "f: expected a map, found nothing but blanks" + fix);
  EXPECT_EQ(Read("[]"), "f: expected a map, found text that begins with '['" + fix);
  EXPECT_EQ(Read("\xff{}"), "f: expected a map, found text that begins with byte 0xff" + fix);
  EXPECT_EQ(Read("{\"a\":1"),
            "f: expected a map, found text that ends with '1' instead of '}'" + fix);
  EXPECT_EQ(Read("{} {}"), "f: expected a map, found more text after its closing brace" + fix);
  EXPECT_EQ(Read("{\"\xff\":1}"), "f: expected a map, found text that is not UTF-8" + fix);
  EXPECT_EQ(Read("{\"a\":\"}"), "f: expected a map, found a string without an end" + fix);
  EXPECT_EQ(Read("{\"a\n\":1}"),
            "f: expected a map, found a control character inside a string" + fix);
}

}  // namespace
}  // namespace shardplan
