// docs/accuracy.md: it says what the program prints, and the predictions are as close as promised.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "shardplan/base/units.h"
#include "support/temp_dir.h"
#include "tools/accuracy/comparison.h"

namespace shardplan {
namespace {

using accuracy::Case;
using accuracy::Comparison;
using testing::HasSubstr;
using testing_support::ReadText;
using testing_support::TempDir;

const std::vector<Comparison>& Rows() {
  static const std::vector<Comparison> rows = [] {
    const std::string data = SHARDPLAN_TEST_DATA;
    const auto cases = accuracy::ReadCases(data);
    EXPECT_TRUE(cases.has_value()) << (cases ? "" : cases.error().ToString());
    const auto store = ConfigStore::WithOverrides(data + "/cases");
    EXPECT_TRUE(store.has_value());
    if (!cases || !store) return std::vector<Comparison>();
    const auto compared = accuracy::Compare(*cases, *store);
    EXPECT_TRUE(compared.has_value()) << (compared ? "" : compared.error().ToString());
    return compared ? *compared : std::vector<Comparison>();
  }();
  return rows;
}

TEST(Accuracy, TheDocumentIsWhatTheProgramPrints) {
  EXPECT_EQ(accuracy::Render(Rows()), ReadText(std::string(SHARDPLAN_SOURCE) + "/docs/accuracy.md"))
      << "run build/default/bin/accuracy > docs/accuracy.md";
}

TEST(Accuracy, WeightsAreAsCloseAsPromised) {
  const accuracy::Summary s = accuracy::Summarize(Rows());
  EXPECT_EQ(s.rows, 32U);
  EXPECT_LE(s.median, 0.001);
  EXPECT_GE(10 * s.within_half_percent, 9 * s.modelled);
  for (const Comparison& row : Rows()) {
    if (!row.modelled()) continue;
    const bool close = std::abs(row.error()) <= 0.005;
    EXPECT_TRUE(close || !row.log.reason.empty()) << row.log.id;
    EXPECT_LE(std::abs(row.error()), 0.02) << row.log.id;
  }
}

// Nothing else may fall out of the comparison unseen.
TEST(Accuracy, OnlyTheseAreNotModelledYet) {
  for (const Comparison& row : Rows()) {
    if (row.modelled()) continue;
    EXPECT_THAT(row.not_modelled, testing::StrEq("only vllm is modelled")) << row.log.id;
  }
}

Comparison Row(double predicted_gib, double observed_gib) {
  Comparison row;
  row.predicted = Gibibytes(predicted_gib).ToBytes();
  row.observed_gib = observed_gib;
  return row;
}

TEST(Accuracy, SummaryCountsErrorsWithoutTheirSign) {
  Comparison unknown;
  unknown.not_modelled = "a family";
  const accuracy::Summary s =
      accuracy::Summarize({Row(99, 100), Row(101, 100), unknown, Row(100, 100), Row(103, 100)});
  EXPECT_EQ(s.rows, 5U);
  EXPECT_EQ(s.modelled, 4U);
  EXPECT_NEAR(s.median, 0.01, 1e-9);
  EXPECT_NEAR(s.largest, 0.03, 1e-9);
  EXPECT_EQ(s.within_half_percent, 1U);
  EXPECT_EQ(accuracy::Summarize({unknown}).modelled, 0U);
}

TEST(Accuracy, AFlagThatNobodyKnowsIsNotDropped) {
  TempDir dir;
  dir.Write("configs/x.json", "{}");
  dir.Write("cases/observed.jsonl",
            R"({"id":"x","model":"m","source":null,"engine":"vllm","version":"0.31.0",)"
            R"("gpu":"h100-80-sxm","nodes":1,"tp":1,"pp":1,"dp":1,"ep":false,)"
            R"("flags":{"speed":1},"config":"configs/x.json","set":{},"weights_gib":[1]})"
            "\n");
  const auto cases = accuracy::ReadCases(dir.path());
  ASSERT_FALSE(cases.has_value());
  EXPECT_THAT(cases.error().ToString(), HasSubstr("unknown flag speed"));
}

}  // namespace
}  // namespace shardplan
