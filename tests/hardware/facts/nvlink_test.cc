#include "hardware/facts/nvlink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hardware/facts_support.h"

namespace shardplan::facts {
namespace {

using testing::HasSubstr;
using testing_support::ErrorOf;
using testing_support::Mutations;
using testing_support::Sample;

TEST(ParseNvlinkTest, ReadsTwoH200s) {
  const auto cards = ParseNvlink(Sample("nvlink.txt"), "nvlink.txt");
  ASSERT_TRUE(cards) << cards.error().ToString();
  ASSERT_EQ(cards->size(), 2u);
  EXPECT_EQ((*cards)[0].active, 18);
  EXPECT_EQ((*cards)[1].active, 18);
  EXPECT_DOUBLE_EQ((*cards)[1].gb_per_s, 26.562);
}

TEST(ParseNvlinkTest, InactiveLinksDoNotCount) {
  const auto cards = ParseNvlink(
      "GPU 0: A (UUID: x)\n\t Link 0: <inactive>\n\t Link 1: 25 GB/s\n\t Link 2: 20 GB/s\n"
      "GPU 1: A (UUID: y)\n",
      "n");
  ASSERT_TRUE(cards) << cards.error().ToString();
  EXPECT_EQ((*cards)[0].active, 2);
  EXPECT_DOUBLE_EQ((*cards)[0].gb_per_s, 20);
  EXPECT_EQ((*cards)[1].active, 0);
}

TEST(ParseNvlinkTest, SaysWhatIsWrong) {
  EXPECT_THAT(ErrorOf(ParseNvlink("\n", "n")), HasSubstr("found no GPU in it"));
  EXPECT_THAT(ErrorOf(ParseNvlink("GPU 0: A\nGPU 2: A\n", "n")),
              HasSubstr("n:2: expected GPU 1, found GPU 2; is the file whole?"));
}

TEST(ParseNvlinkTest, SurvivesCutAndBrokenText) {
  for (const std::string& text : Mutations(Sample("nvlink.txt"))) {
    const auto cards = ParseNvlink(text, "n");
    if (cards) {
      EXPECT_LE(cards->size(), 2u);
    }
  }
}

}  // namespace
}  // namespace shardplan::facts
