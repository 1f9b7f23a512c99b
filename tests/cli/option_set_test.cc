#include "cli/option_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/App.hpp>
#include <vector>

namespace shardplan::cli {
namespace {

using ::testing::ElementsAre;

class OptionSetTest : public ::testing::Test {
 protected:
  OptionSetTest() {
    options_.Positional("MODEL", "a path", &model_);
    options_.Count("--tp,--tensor-parallel-size", "size", 1, [this](int64_t n) { tp_ = n; });
    options_.Text("--gpu", "ID", "card", [this](std::string text) { gpu_ = std::move(text); });
    options_.Repeated("--name", "NAME", "names", [this](const std::string& text) -> Status {
      names_.push_back(text);
      return {};
    });
    options_.Flag("--eager", "no graphs", [this] { ++eager_; });
  }

  // What is wrong with the line; empty where nothing is.
  std::string Parse(std::vector<std::string> arguments) {
    options_.SetLine(arguments);
    std::reverse(arguments.begin(), arguments.end());
    app_.parse(std::move(arguments));
    return options_.status() ? "" : options_.status().error().ToString();
  }

  CLI::App app_;
  OptionSet options_{&app_};
  std::string model_, gpu_;
  std::vector<std::string> names_;
  int64_t tp_ = 0;
  int eager_ = 0;
};

TEST_F(OptionSetTest, ReadsEveryKind) {
  EXPECT_EQ(Parse({"--tp", "8", "m", "--gpu=x", "--name", "a", "--name", "b,c", "--eager"}), "");
  EXPECT_EQ(tp_, 8);
  EXPECT_EQ(model_, "m");
  EXPECT_EQ(gpu_, "x");
  EXPECT_THAT(names_, ElementsAre("a", "b,c"));
  EXPECT_EQ(eager_, 1);
}

TEST_F(OptionSetTest, RepeatedOptionsDoNotEatTheNextWord) {
  EXPECT_EQ(Parse({"--name", "a", "m"}), "");
  EXPECT_EQ(model_, "m");
}

TEST_F(OptionSetTest, LongNamesAreTheSameOption) {
  EXPECT_EQ(Parse({"--tensor-parallel-size", "4"}), "");
  EXPECT_EQ(tp_, 4);
}

TEST_F(OptionSetTest, FlagsMayComeTwice) {
  EXPECT_EQ(Parse({"--eager", "--eager"}), "");
  EXPECT_EQ(eager_, 1);
}

TEST_F(OptionSetTest, ValuesMayBeginWithADash) { EXPECT_EQ(Parse({"--gpu", "-1"}), ""); }

// By the name that was given.
TEST_F(OptionSetTest, KeepsTheFirstErrorWithTheOptionsName) {
  const std::string rest = " x: expected a whole number, at least 1";
  EXPECT_EQ(Parse({"--tensor-parallel-size", "x"}), "--tensor-parallel-size" + rest);
}

TEST_F(OptionSetTest, NamesBeforeAnEqualsSign) {
  EXPECT_EQ(Parse({"--tensor-parallel-size=0"}),
            "--tensor-parallel-size 0: expected a whole number, at least 1");
}

TEST_F(OptionSetTest, Twice) {
  EXPECT_EQ(Parse({"--tp", "8", "--tp", "8"}), "--tp: expected once, found 2 times");
}

TEST_F(OptionSetTest, NoValue) {
  EXPECT_EQ(Parse({"--gpu", ""}), "--gpu: expected a value, found nothing");
}

TEST_F(OptionSetTest, AnotherOptionForAValue) {
  EXPECT_EQ(Parse({"--gpu", "--tp", "8"}), "--gpu: expected a value, found the option --tp");
}

TEST_F(OptionSetTest, KnowsWhatWasAdded) {
  const OptionSet::Known* tp = options_.Find("tensor-parallel-size");
  ASSERT_NE(tp, nullptr);
  EXPECT_EQ(tp, options_.Find("tp"));
  EXPECT_THAT(tp->names, ElementsAre("tp", "tensor-parallel-size"));
  EXPECT_EQ(tp->value, "N");
  EXPECT_FALSE(tp->is_flag());
  EXPECT_FALSE(tp->given());
  EXPECT_TRUE(options_.Find("eager")->is_flag());
  EXPECT_EQ(options_.Find("nothing"), nullptr);
  EXPECT_EQ(Parse({"--tp", "8"}), "");
  EXPECT_TRUE(tp->given());
  EXPECT_FALSE(options_.Find("gpu")->given());
}

TEST_F(OptionSetTest, ReadersCanBeCalledByOthers) {
  EXPECT_TRUE(options_.Find("tp")->read("16"));
  EXPECT_EQ(tp_, 16);
  EXPECT_EQ(options_.Find("tp")->read("x").error().ToString(),
            "x: expected a whole number, at least 1");
  EXPECT_TRUE(options_.Find("eager")->read("false"));
  EXPECT_EQ(eager_, 0);
  EXPECT_TRUE(options_.Find("eager")->read("true"));
  EXPECT_EQ(eager_, 1);
  EXPECT_EQ(options_.Find("eager")->read("maybe").error().ToString(),
            "maybe: expected true or false");
}

TEST_F(OptionSetTest, CollectsInsteadOfReading) {
  std::vector<std::string> texts;
  options_.Collect("tensor-parallel-size", &texts);
  EXPECT_EQ(Parse({"--tp", "8", "--tp", "x"}), "");
  EXPECT_THAT(texts, ElementsAre("8", "x"));
  EXPECT_EQ(tp_, 0);
}

TEST(ParseCountTest, WholeNumbers) {
  EXPECT_EQ(*ParseCount("12", 1), 12);
  EXPECT_EQ(*ParseCount("0", 0), 0);
  for (const char* text : {"", "x", "1x", "1.5", "-1", "+1", " 1", "0x10", "9223372036854775808"}) {
    EXPECT_FALSE(ParseCount(text, 0)) << text;
  }
  EXPECT_EQ(ParseCount("1", 1'000).error().ToString(),
            "1: expected a whole number, at least 1,000");
}

TEST(ParseDecimalTest, PlainDecimals) {
  EXPECT_EQ(*ParseDecimal("0.9"), 0.9);
  EXPECT_EQ(*ParseDecimal("32"), 32.0);
  for (const char* text : {"", "x", "1e3", "inf", "nan", "-1", "0,9", "1.2.3", "0x1"}) {
    EXPECT_FALSE(ParseDecimal(text)) << text;
  }
  EXPECT_EQ(ParseDecimal("0,9").error().ToString(), "0,9: expected a decimal number such as 0.9");
}

TEST_F(OptionSetTest, KnowsTheLine) {
  EXPECT_EQ(Parse({"m", "--tp", "8"}), "");
  EXPECT_THAT(options_.line(), ElementsAre("m", "--tp", "8"));
}

}  // namespace
}  // namespace shardplan::cli
