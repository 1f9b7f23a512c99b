#include "hardware/facts/smi_query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hardware/facts_support.h"

namespace shardplan::facts {
namespace {

using testing::HasSubstr;
using testing_support::ErrorOf;
using testing_support::Mutations;
using testing_support::Sample;

TEST(ParseSmiQueryTest, ReadsTwoH200s) {
  const auto cards = ParseSmiQuery(Sample("query.csv"), "query.csv");
  ASSERT_TRUE(cards) << cards.error().ToString();
  ASSERT_EQ(cards->size(), 2u);
  const CardFacts& card = (*cards)[1];
  EXPECT_EQ(card.name, "NVIDIA H200");
  EXPECT_EQ(card.total, Bytes(143'771 * kMiB));
  EXPECT_EQ(card.reserved, Bytes(616 * kMiB));
  EXPECT_EQ(card.used, Bytes());
  EXPECT_EQ(card.driver, "580.159.04");
  EXPECT_EQ(card.pcie_generation, 5);
  EXPECT_EQ(card.pcie_width, 16);
  EXPECT_FALSE(card.mig);
}

TEST(ParseSmiQueryTest, ColumnsInAnyOrderWithoutUnits) {
  const auto cards = ParseSmiQuery(
      "memory.total [MiB], memory.reserved [MiB], name, mig.mode.current\n"
      "97871, [N/A], NVIDIA H20, Enabled\n",
      "q");
  ASSERT_TRUE(cards) << cards.error().ToString();
  EXPECT_EQ((*cards)[0].total, Bytes(97'871 * kMiB));
  EXPECT_EQ((*cards)[0].reserved, std::nullopt);
  EXPECT_EQ((*cards)[0].used, std::nullopt);
  EXPECT_TRUE((*cards)[0].mig);
}

TEST(ParseSmiQueryTest, SaysWhatIsWrong) {
  EXPECT_THAT(ErrorOf(ParseSmiQuery("", "q")), HasSubstr("q:1: expected a header, found nothing"));
  EXPECT_THAT(ErrorOf(ParseSmiQuery("name, uuid\nA, B\n", "q")),
              HasSubstr("q:1: expected a column memory.total, found none"));
  EXPECT_THAT(ErrorOf(ParseSmiQuery("name, memory.total [MiB]\n", "q")),
              HasSubstr("expected a line for each card"));
  EXPECT_THAT(ErrorOf(ParseSmiQuery("name, memory.total [MiB]\nNVIDIA H200\n", "q")),
              HasSubstr("q:2: expected 2 columns, found 1; is the file whole?"));
  EXPECT_THAT(ErrorOf(ParseSmiQuery("name, memory.total [MiB]\nNVIDIA H200, [N/A]\n", "q")),
              HasSubstr("q:2: expected a card's name and memory.total"));
  std::string many = "name, memory.total [MiB]\n";
  for (int i = 0; i < 65; ++i) many += "A, 1 MiB\n";
  EXPECT_THAT(ErrorOf(ParseSmiQuery(many, "q")), HasSubstr("at most 64 cards"));
}

TEST(ParseSmiQueryTest, SurvivesCutAndBrokenText) {
  for (const std::string& text : Mutations(Sample("query.csv"))) {
    const auto cards = ParseSmiQuery(text, "q");
    if (cards) {
      EXPECT_LE(cards->size(), 2u);
    }
  }
}

}  // namespace
}  // namespace shardplan::facts
