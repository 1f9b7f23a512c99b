#include "launch/yaml_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <limits>
#include <string>
#include <vector>

namespace shardplan {
namespace {

std::string Written(const YamlValue& value) {
  auto text = WriteYaml(YamlDocument{value, "", {}});
  EXPECT_TRUE(text) << text.error().message;
  return text.value_or("");
}

// What a parser makes of it: strings as strings, everything else by its spelling.
void ExpectSame(const YAML::Node& read, const YamlValue& value) {
  if (value.is_object()) {
    ASSERT_TRUE(read.IsMap());
    ASSERT_EQ(read.size(), value.size());
    auto at = read.begin();
    for (const auto& [key, member] : value.items()) {
      EXPECT_EQ(at->first.as<std::string>(), key);
      ExpectSame(at->second, member);
      ++at;
    }
  } else if (value.is_array()) {
    ASSERT_TRUE(read.IsSequence());
    ASSERT_EQ(read.size(), value.size());
    for (size_t i = 0; i < value.size(); ++i) ExpectSame(read[i], value[i]);
  } else if (value.is_string()) {
    ASSERT_TRUE(read.IsScalar());
    EXPECT_EQ(read.as<std::string>(), value.get<std::string>());
  } else if (value.is_null()) {
    EXPECT_TRUE(read.IsNull());
  } else {
    EXPECT_EQ(read.as<std::string>(), value.dump());
    EXPECT_EQ(read.Tag(), "?") << "quoted: " << value;
  }
}

TEST(YamlWriterTest, ReadsAsAPersonWouldWriteIt) {
  YamlDocument document;
  document.comment = "Made by shardplan.\n\nNode 0";
  document.value = {{"services",
                     {{"vllm",
                       {{"image", "vllm/vllm-openai:v0.31.0"},
                        {"command", {"/models/K3", "--port", "8000"}},
                        {"shm_size", 1024},
                        {"ulimits", {{"memlock", -1}}},
                        {"devices", YamlValue::array({{{"driver", "nvidia"}, {"ids", {"0"}}}})},
                        {"tmpfs", YamlValue::array()},
                        {"labels", YamlValue::object()}}}}}};
  document.comments = {{"/services/vllm/shm_size", "for NCCL"},
                       {"/services/vllm/command/1", "of the API"},
                       {"/services/vllm/devices/0/driver", "all cards"}};
  const auto text = WriteYaml(document);
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(*text, R"(# Made by shardplan.
#
# Node 0
services:
  vllm:
    image: "vllm/vllm-openai:v0.31.0"
    command:
      - /models/K3
      # of the API
      - --port
      - "8000"
    # for NCCL
    shm_size: 1024
    ulimits:
      memlock: -1
    devices:
      # all cards
      - driver: nvidia
        ids:
          - "0"
    tmpfs: []
    labels: {}
)");
  ExpectSame(YAML::Load(*text), document.value);
}

TEST(YamlWriterTest, TextStaysText) {
  const std::vector<std::string> hostile = {"",
                                            " ",
                                            "a",
                                            "~",
                                            "null",
                                            "Null",
                                            "NULL",
                                            "true",
                                            "Yes",
                                            "no",
                                            "ON",
                                            "off",
                                            "y",
                                            "N",
                                            "1",
                                            "-1",
                                            "1.5",
                                            "0x10",
                                            "0o7",
                                            "1e3",
                                            ".inf",
                                            ".NaN",
                                            "1:30",
                                            "2026-01-01",
                                            "12:30:45",
                                            "=",
                                            "<<",
                                            "-",
                                            "--",
                                            "---",
                                            "...",
                                            "- a",
                                            "--flag",
                                            "--flag=a",
                                            "-tp",
                                            "? a",
                                            "a: b",
                                            "a:",
                                            ": a",
                                            "a #b",
                                            "#b",
                                            "&a",
                                            "*a",
                                            "!a",
                                            "|",
                                            ">",
                                            "%a",
                                            "@a",
                                            "`a`",
                                            "{a}",
                                            "[a]",
                                            "a,b",
                                            "'a'",
                                            "\"a\"",
                                            "it's",
                                            "say \"hi\"",
                                            "back\\slash",
                                            "\\n",
                                            "$(reboot)",
                                            "${HOME}",
                                            "two\nlines",
                                            "two\nlines\n",
                                            "two\nlines\n\n",
                                            "\nfirst",
                                            " first\nsecond",
                                            "first \nsecond",
                                            "tab\tin",
                                            "tab\tin\nline",
                                            "\n",
                                            "\r\n",
                                            "a\rb",
                                            "a\nb: c\n# d\n--- \n...",
                                            "a\n---\nb: c",
                                            "a\n\n  b\n\nc\n",
                                            "\x1b[2J",
                                            std::string("zero\0byte", 9),
                                            "mod\xc3\xa8le",
                                            "\xe6\xa8\xa1\xe5\x9e\x8b",
                                            "\xf0\x9f\x9a\x80",
                                            "\xe2\x80\xae"
                                            "rtl",
                                            "\xe2\x80\xa8"
                                            "separator",
                                            "\xef\xbb\xbf"
                                            "mark",
                                            "\xc2\x85"
                                            "next",
                                            "\xc2\xa0",
                                            "\xef\xbf\xbe",
                                            "trailing ",
                                            " leading",
                                            std::string(3000, 'x')};
  YamlValue value = {{"list", hostile}, {"map", YamlValue::object()}};
  for (const std::string& text : hostile) {
    if (text.size() <= 1024) value["map"][text] = text;
  }
  value["nested"] = YamlValue::array(
      {YamlValue::array({"a\nb", YamlValue::array({"c", "d"})}), {{"e", hostile}, {"f", nullptr}}});
  const std::string text = Written(value);
  ExpectSame(YAML::Load(text), value);
  for (const char c : text) {
    EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << static_cast<int>(c);
  }
  EXPECT_EQ(text.find('\x7f'), std::string::npos);
  EXPECT_EQ(text.find("\xe2\x80\xae"), std::string::npos);
}

TEST(YamlWriterTest, NumbersAndWordsOfTheLanguage) {
  const YamlValue value = {{"a", 1}, {"b", -2}, {"c", true}, {"d", nullptr}, {"e", 0.5}};
  EXPECT_EQ(Written(value), "a: 1\nb: -2\nc: true\nd: null\ne: 0.5\n");
  EXPECT_EQ(Written("a b"), "\"a b\"\n");
  EXPECT_EQ(Written("a\nb\n"), "|\n  a\n  b\n");
  EXPECT_EQ(Written(YamlValue::array({1, YamlValue::array({2, 3})})), "- 1\n-\n  - 2\n  - 3\n");
}

TEST(YamlWriterTest, ScriptsAreReadable) {
  EXPECT_EQ(Written({{"run", "set -e\n\nif true; then\n  echo \"$x\"\nfi\n"}}),
            "run: |\n  set -e\n\n  if true; then\n    echo \"$x\"\n  fi\n");
  EXPECT_EQ(Written({{"run", "a\nb"}}), "run: |-\n  a\n  b\n");
}

TEST(YamlWriterTest, CommentsStayComments) {
  YamlDocument document;
  document.value = {{"a", 1}};
  document.comment =
      "x\rb: 2\xe2\x80\xa8"
      "c: 3";
  document.comments = {{"/a", "two\nlines: 1"}};
  const auto text = WriteYaml(document);
  ASSERT_TRUE(text);
  ExpectSame(YAML::Load(*text), document.value);
  EXPECT_EQ(text->find('\r'), std::string::npos);
  EXPECT_THAT(*text, testing::HasSubstr("# two\n# lines: 1\na: 1\n"));
}

TEST(YamlWriterTest, CommentsOfKeysWithSlashes) {
  YamlDocument document;
  document.value = {{"nvidia.com/gpu", 8}};
  document.comments = {{"/nvidia.com~1gpu", "cards"}};
  EXPECT_EQ(*WriteYaml(document), "# cards\nnvidia.com/gpu: 8\n");
}

TEST(YamlWriterTest, SeveralDocuments) {
  const auto text =
      WriteYaml(std::vector<YamlDocument>{{{{"a", 1}}, "first", {}}, {{{"b", 2}}, "", {}}});
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, "# first\na: 1\n---\nb: 2\n");
  EXPECT_EQ(YAML::LoadAll(*text).size(), 2U);
}

TEST(YamlWriterTest, Refusals) {
  EXPECT_FALSE(WriteYaml(YamlDocument{{{"a", "\xff"}}, "", {}}));
  EXPECT_FALSE(WriteYaml(YamlDocument{{{"\xff", "a"}}, "", {}}));
  EXPECT_FALSE(WriteYaml(YamlDocument{{{"a", "\xed\xa0\x80"}}, "", {}}));  // a surrogate
  EXPECT_FALSE(WriteYaml(YamlDocument{{{"a", "\xc0\xaf"}}, "", {}}));      // overlong
  EXPECT_FALSE(WriteYaml(YamlDocument{{{std::string(1025, 'k'), 1}}, "", {}}));
  EXPECT_FALSE(WriteYaml(YamlDocument{{{"a", std::numeric_limits<double>::infinity()}}, "", {}}));
  const auto lost = WriteYaml(YamlDocument{{{"a", 1}}, "", {{"/b", "?"}}});
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, ErrorCode::kInternal);
}

TEST(YamlQuoteTest, OnOneLine) {
  EXPECT_EQ(*YamlQuote("two\nlines"), "\"two\\nlines\"");
  EXPECT_EQ(*YamlQuote("plain-word_1.x"), "plain-word_1.x");
  EXPECT_EQ(*YamlQuote("8"), "\"8\"");
  EXPECT_FALSE(YamlQuote("\xff"));
}

}  // namespace
}  // namespace shardplan
