#include "hardware/facts/smi_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hardware/facts_support.h"

namespace shardplan::facts {
namespace {

using testing::HasSubstr;
using testing_support::ErrorOf;
using testing_support::Mutations;
using testing_support::Sample;

TEST(ParseSmiLogTest, ReadsTwoH200s) {
  const auto cards = ParseSmiLog(Sample("smi-q.txt"), "smi-q.txt");
  ASSERT_TRUE(cards) << cards.error().ToString();
  ASSERT_EQ(cards->size(), 2u);
  for (const CardFacts& card : *cards) {
    EXPECT_EQ(card.name, "NVIDIA H200");
    EXPECT_EQ(card.total, Bytes(143'771 * kMiB));  // not BAR1's
    EXPECT_EQ(card.reserved, Bytes(616 * kMiB));
    EXPECT_EQ(card.used, Bytes());
    EXPECT_EQ(card.driver, "580.159.04");
    EXPECT_EQ(card.pcie_generation, 5);
    EXPECT_EQ(card.pcie_width, 16);
    EXPECT_FALSE(card.mig);
  }
}

TEST(ParseSmiLogTest, ReadsMig) {
  std::string text = Sample("smi-q.txt");
  const std::string disabled = "Current                                        : Disabled";
  text.replace(text.find(disabled), disabled.size(),
               "Current                                        : Enabled");
  const auto cards = ParseSmiLog(text, "q");
  ASSERT_TRUE(cards) << cards.error().ToString();
  EXPECT_TRUE((*cards)[0].mig);
  EXPECT_FALSE((*cards)[1].mig);
}

TEST(ParseSmiLogTest, ACutFileIsNotHalfAServer) {
  const std::string text = Sample("smi-q.txt");
  const size_t second = text.find("GPU 00000000:00:07.0");
  EXPECT_THAT(ErrorOf(ParseSmiLog(text.substr(0, second), "q")),
              HasSubstr("expected the 2 attached GPUs, found 1; is the file whole?"));
  EXPECT_THAT(ErrorOf(ParseSmiLog(text.substr(0, text.rfind("FB Memory Usage")), "q")),
              HasSubstr("expected Product Name and FB Memory Usage, Total of GPU 1, found none"));
  EXPECT_THAT(ErrorOf(ParseSmiLog("==NVSMI LOG==\n", "q")),
              HasSubstr("q:1: expected the output of nvidia-smi -q, found no GPU in it"));
}

TEST(ParseSmiLogTest, SurvivesCutAndBrokenText) {
  for (const std::string& text : Mutations(Sample("smi-q.txt"))) {
    const auto cards = ParseSmiLog(text, "q");
    if (cards) {
      EXPECT_LE(cards->size(), 3u);
    }
  }
  std::string deep = "Attached GPUs : 1\nGPU 0:0\n";
  for (int i = 0; i < 5000; ++i) deep += std::string(static_cast<size_t>(i) * 4, ' ') + "x\n";
  EXPECT_FALSE(ParseSmiLog(deep.substr(0, kMiB), "q"));
}

}  // namespace
}  // namespace shardplan::facts
