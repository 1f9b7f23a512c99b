#include "shardplan/checkpoint/tensor_name.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <utility>

namespace shardplan {
namespace {

std::pair<std::string, NameIndices> Split(std::string_view name) {
  std::pair<std::string, NameIndices> out;
  out.first = "what was there before";
  out.second = {9, 9, 9};
  SplitTensorName(name, &out.first, &out.second);
  return out;
}

struct Case {
  std::string_view name;
  std::string_view pattern;
  NameIndices indices;
};

TEST(TensorNameTest, Splits) {
  const Case cases[] = {
      {"model.layers.3.mlp.experts.17.w1.weight",
       "model.layers.{}.mlp.experts.{}.w1.weight",
       {3, 17, -1}},
      {"lm_head.weight", "lm_head.weight", {-1, -1, -1}},
      {"", "", {-1, -1, -1}},
      {".", ".", {-1, -1, -1}},
      {"a..b", "a..b", {-1, -1, -1}},
      {"5", "{}", {5, -1, -1}},
      {"0.1.", "{}.{}.", {0, 1, -1}},
      {".7", ".{}", {7, -1, -1}},
      // Not indices: leading zeros, signs, letters, too large.
      {"a.00", "a.00", {-1, -1, -1}},
      {"a.01.b", "a.01.b", {-1, -1, -1}},
      {"a.-1", "a.-1", {-1, -1, -1}},
      {"a.1x", "a.1x", {-1, -1, -1}},
      {"layer12.weight", "layer12.weight", {-1, -1, -1}},
      {"a.9999999", "a.{}", {9999999, -1, -1}},
      {"a.10000000", "a.10000000", {-1, -1, -1}},
      {"a.99999999999999999999999", "a.99999999999999999999999", {-1, -1, -1}},
      // Three at most.
      {"1.2.3.4.5", "{}.{}.{}.4.5", {1, 2, 3}},
      {"a.1.b.2.c.3.d.4", "a.{}.b.{}.c.{}.d.4", {1, 2, 3}},
      // Braces in names.
      {"a.{}", "a.{{}}", {-1, -1, -1}},
      {"{}", "{{}}", {-1, -1, -1}},
      {"{{}}", "{{{}}}", {-1, -1, -1}},
      {"{}{}", "{{}}{{}}", {-1, -1, -1}},
      {"{}.4.x{}", "{{}}.{}.x{{}}", {4, -1, -1}},
      {"{", "{", {-1, -1, -1}},
      {"}{", "}{", {-1, -1, -1}},
  };
  for (const Case& c : cases) {
    const auto [pattern, indices] = Split(c.name);
    EXPECT_EQ(pattern, c.pattern) << c.name;
    EXPECT_EQ(indices, c.indices) << c.name;
    EXPECT_EQ(JoinTensorName(pattern, indices), c.name);
  }
}

TEST(TensorNameTest, NulAndHighBytesSurvive) {
  const std::string name = std::string("a.\0.7.", 6) + "\xc3\xa9";
  const auto [pattern, indices] = Split(name);
  EXPECT_EQ(JoinTensorName(pattern, indices), name);
  EXPECT_EQ(indices[0], 7);
}

// Every name over a small hostile alphabet: the split is lossless, and no two names share one.
TEST(TensorNameTest, LosslessAndUnique) {
  constexpr std::string_view kAlphabet = ".{}01a";
  std::map<std::pair<std::string, NameIndices>, std::string> seen;
  for (int length = 0; length <= 6; ++length) {
    size_t count = 1;
    for (int i = 0; i < length; ++i) count *= kAlphabet.size();
    for (size_t number = 0; number < count; ++number) {
      std::string name;
      for (size_t rest = number; name.size() < static_cast<size_t>(length);
           rest /= kAlphabet.size()) {
        name += kAlphabet[rest % kAlphabet.size()];
      }
      const auto key = Split(name);
      ASSERT_EQ(JoinTensorName(key.first, key.second), name);
      const auto [at, is_new] = seen.emplace(key, name);
      ASSERT_TRUE(is_new) << name << " and " << at->second << " share " << key.first;
    }
  }
}

TEST(TensorNameTest, LosslessOnRandomNames) {
  std::mt19937 random(20240607);
  constexpr std::string_view kPieces[] = {".",   "..", "{}",  "{",       "}",        "0",   "00",
                                          "123", "w1", "{{}", "9999999", "10000000", "abc", "-1"};
  for (int round = 0; round < 20000; ++round) {
    std::string name;
    for (size_t pieces = random() % 12; pieces > 0; --pieces) {
      name += kPieces[random() % std::size(kPieces)];
    }
    const auto [pattern, indices] = Split(name);
    ASSERT_EQ(JoinTensorName(pattern, indices), name);
  }
}

TEST(TensorNameTest, JoinKeepsPlaceholdersWithoutIndices) {
  EXPECT_EQ(JoinTensorName("a.{}.b.{}", {4, -1, -1}), "a.4.b.{}");
  EXPECT_EQ(JoinTensorName("{}.{}.{}.{}", {1, 2, 3}), "1.2.3.{}");
}

}  // namespace
}  // namespace shardplan
