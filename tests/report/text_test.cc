#include "report/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shardplan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(DisplayWidthTest, CountsColumnsNotBytes) {
  EXPECT_EQ(DisplayWidth(""), 0U);
  EXPECT_EQ(DisplayWidth("abc"), 3U);
  EXPECT_EQ(DisplayWidth("2.36×"), 5U);
  EXPECT_EQ(DisplayWidth("0–7"), 3U);
  EXPECT_EQ(DisplayWidth("模型"), 4U);
  EXPECT_EQ(DisplayWidth("e\xcc\x81"), 1U);  // e and a combining accent
  EXPECT_EQ(DisplayWidth("😀"), 2U);
  EXPECT_EQ(DisplayWidth("\xff\xe2\x82"), 3U);  // not UTF-8
}

TEST(PadTest, FillsUpToTheWidth) {
  EXPECT_EQ(PadLeft("2×", 4), "  2×");
  EXPECT_EQ(PadRight("2×", 4), "2×  ");
  EXPECT_EQ(PadLeft("long", 2), "long");
}

TEST(WrapTest, BreaksAtSpaces) {
  EXPECT_THAT(WrapLines("one two three", 7, 0, 0), ElementsAre("one two", "three"));
  EXPECT_THAT(WrapLines("one two three", 9, 2, 4), ElementsAre("  one two", "    three"));
  EXPECT_THAT(WrapLines("  a  b ", 80, 0, 0), ElementsAre("a b"));
  EXPECT_THAT(WrapLines("", 80, 2, 2), IsEmpty());
}

TEST(WrapTest, CutsWordsLongerThanALine) {
  EXPECT_THAT(WrapLines("abcdefgh", 4, 0, 1), ElementsAre("abcd", " efg", " h"));
  EXPECT_THAT(WrapLines("x abcdefgh", 5, 0, 0), ElementsAre("x", "abcde", "fgh"));
  EXPECT_THAT(WrapLines("模型模型", 4, 0, 0), ElementsAre("模型", "模型"));
  EXPECT_THAT(WrapLines("ab", 1, 3, 3), ElementsAre("   a", "   b"));  // no room: still ends
}

TEST(WrapTest, EndsEveryLine) { EXPECT_EQ(Wrap("a b", 1, 0, 0), "a\nb\n"); }

TEST(FormatRunsTest, JoinsNeighbours) {
  EXPECT_EQ(FormatRuns({}), "");
  EXPECT_EQ(FormatRuns({3}), "3");
  EXPECT_EQ(FormatRuns({0, 1}), "0, 1");
  EXPECT_EQ(FormatRuns({0, 1, 2, 3, 8, 9, 10, 12}), "0–3, 8–10, 12");
}

TEST(PluralTest, KnowsOne) {
  EXPECT_EQ(Plural(1, "node", "nodes"), "1 node");
  EXPECT_EQ(Plural(2, "node", "nodes"), "2 nodes");
  EXPECT_EQ(Plural(1234, "card", "cards"), "1,234 cards");
}

TEST(FormatTimesTest, TwoDecimals) { EXPECT_EQ(FormatTimes(2.3555), "2.36×"); }

TEST(BarTest, ToAnEighthOfAColumn) {
  EXPECT_EQ(Bar(1, 4), "████");
  EXPECT_EQ(Bar(0.5, 4), "██");
  EXPECT_EQ(Bar(0.28125, 4), "█▏");
  EXPECT_EQ(Bar(0.01, 4), "");
  EXPECT_EQ(Bar(0, 4), "");
  EXPECT_EQ(Bar(7, 4), "████");
  EXPECT_EQ(Bar(-1, 4), "");
}

TEST(Text, SecondsInTheirSize) {
  EXPECT_EQ(FormatSeconds(0), "0 s");
  EXPECT_EQ(FormatSeconds(-1), "0 s");
  EXPECT_EQ(FormatSeconds(3.2e-6), "3.2 µs");
  EXPECT_EQ(FormatSeconds(0.9999e-3), "1 ms");
  EXPECT_EQ(FormatSeconds(0.0143), "14.3 ms");
  EXPECT_EQ(FormatSeconds(2.5), "2.5 s");
  EXPECT_EQ(FormatSeconds(59.97), "1 min 0 s");
  EXPECT_EQ(FormatSeconds(127), "2 min 7 s");
  EXPECT_EQ(FormatSeconds(3840), "1 h 4 min");
  EXPECT_EQ(FormatSeconds(1e300), "277777777 h 46 min");
}

}  // namespace
}  // namespace shardplan
