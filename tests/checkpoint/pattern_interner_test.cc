#include "checkpoint/pattern_interner.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace shardplan {
namespace {

TEST(PatternInternerTest, NumbersPatterns) {
  PatternInterner interner;
  NameIndices indices;
  EXPECT_EQ(interner.Intern("l.0.w1", &indices), 0u);
  EXPECT_EQ(interner.Intern("l.0.w2", &indices), 1u);
  EXPECT_EQ(interner.Intern("l.12.w1", &indices), 0u);
  EXPECT_EQ(indices, (NameIndices{12, -1, -1}));
  EXPECT_EQ(interner.Intern("l.34.w2", &indices), 1u);  // as guessed
  EXPECT_EQ(indices, (NameIndices{34, -1, -1}));
  EXPECT_EQ(interner.Intern("l.034.w1", &indices), 2u);
  EXPECT_EQ(indices, kNoIndices);
  EXPECT_EQ(interner[2], "l.034.w1");
  EXPECT_EQ(interner.Take(), (std::vector<std::string>{"l.{}.w1", "l.{}.w2", "l.034.w1"}));
  EXPECT_EQ(interner.Intern("l.0.w2", &indices), 0u);
}

// Whatever was guessed, the split is SplitTensorName's.
TEST(PatternInternerTest, AgreesWithSplitTensorName) {
  std::mt19937 random(7);
  constexpr std::string_view kPieces[] = {".",  ".",   ".",       ".",        "{}", "{",  "0",
                                          "00", "123", "9999999", "10000000", "a",  "-1", "9"};
  PatternInterner interner;
  for (int round = 0; round < 200000; ++round) {
    std::string name;
    for (size_t pieces = random() % 9; pieces > 0; --pieces) {
      name += kPieces[random() % std::size(kPieces)];
    }
    std::string pattern;
    NameIndices expected;
    SplitTensorName(name, &pattern, &expected);
    // Twice: the second time the guess is the name's own pattern.
    for (int again = 0; again < 2; ++again) {
      NameIndices indices = {1, 2, 3};
      ASSERT_EQ(interner[interner.Intern(name, &indices)], pattern) << name;
      ASSERT_EQ(indices, expected) << name;
    }
  }
}

TEST(PatternInternerTest, GuessesOverAllShortNames) {
  constexpr std::string_view kAlphabet = ".{}01";
  std::vector<std::string> names = {""};
  for (size_t i = 0; names[i].size() < 5; ++i) {
    for (const char c : kAlphabet) names.push_back(names[i] + c);
  }
  PatternInterner interner;
  std::string pattern;
  for (const char* before : {"1", "1.1", "1.1.1", "1.1.1.1", "{}.1", "1{}", "."}) {
    for (const std::string& name : names) {
      NameIndices indices;
      interner.Intern(before, &indices);  // learns, again and again, that `before` follows …
      interner.Intern(before, &indices);  // … `before`
      NameIndices expected;
      SplitTensorName(name, &pattern, &expected);
      ASSERT_EQ(interner[interner.Intern(name, &indices)], pattern) << before << " " << name;
      ASSERT_EQ(indices, expected);
    }
  }
}

}  // namespace
}  // namespace shardplan
