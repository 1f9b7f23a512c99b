#include "checkpoint/json_output.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace shardplan {
namespace {

std::string Quoted(std::string_view text) {
  std::string out;
  AppendJsonString(text, &out);
  return out;
}

TEST(JsonOutputTest, EscapesWhatJsonRequires) {
  EXPECT_EQ(Quoted(""), R"("")");
  EXPECT_EQ(Quoted("model.layers.0"), R"("model.layers.0")");
  EXPECT_EQ(Quoted("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(Quoted("\b\f\n\r\t"), R"("\b\f\n\r\t")");
  EXPECT_EQ(Quoted(std::string_view("\0\x1f\x7f", 3)), "\"\\u0000\\u001f\x7f\"");
  EXPECT_EQ(Quoted("é/…"), "\"é/…\"");
}

TEST(JsonOutputTest, AnotherReaderAgrees) {
  std::string all;
  for (int c = 0; c < 0x80; ++c) all += static_cast<char>(c);
  EXPECT_EQ(nlohmann::json::parse(Quoted(all)).get<std::string>(), all);
}

TEST(JsonOutputTest, Integers) {
  std::string out;
  AppendInteger(0, &out);
  AppendInteger(INT64_MAX, &out);
  AppendInteger(INT64_MIN, &out);
  EXPECT_EQ(out, "09223372036854775807-9223372036854775808");
}

TEST(JsonOutputTest, Utf8) {
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_TRUE(IsUtf8("é"));
  EXPECT_FALSE(IsUtf8("\xff"));
  EXPECT_FALSE(IsUtf8("\xc3"));
  EXPECT_FALSE(IsUtf8("\xed\xa0\x80"));  // half of a surrogate pair
}

}  // namespace
}  // namespace shardplan
