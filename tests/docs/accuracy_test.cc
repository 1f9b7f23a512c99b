// docs/accuracy.md: it says what the program prints, and the predictions are as close as promised.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "shardplan/base/units.h"
#include "support/temp_dir.h"
#include "tools/accuracy/cache_rows.h"
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

const accuracy::CacheRows& Caches() {
  static const accuracy::CacheRows rows = [] {
    const std::string data = SHARDPLAN_TEST_DATA;
    const auto cases = accuracy::ReadCases(data);
    const auto store = ConfigStore::WithOverrides(data + "/cases");
    if (!cases || !store) return accuracy::CacheRows();
    const auto compared = accuracy::CompareCaches(*cases, *store);
    EXPECT_TRUE(compared.has_value()) << (compared ? "" : compared.error().ToString());
    return compared ? *compared : accuracy::CacheRows();
  }();
  return rows;
}

TEST(Accuracy, TheDocumentIsWhatTheProgramPrints) {
  EXPECT_EQ(accuracy::Render(Rows()) + accuracy::RenderCaches(Caches()),
            ReadText(std::string(SHARDPLAN_SOURCE) + "/docs/accuracy.md"))
      << "run build/default/bin/accuracy > docs/accuracy.md";
}

// Tokens are arithmetic; memory from the flags alone is a prediction with a range.
TEST(Accuracy, CachesAreAsCloseAsPromised) {
  const accuracy::CacheSummary s = accuracy::Summarize(Caches());
  EXPECT_GE(s.tokens, 22U);
  EXPECT_GE(100 * s.tokens_hold, 95 * s.tokens);
  EXPECT_EQ(s.budgets, 27U);
  EXPECT_LE(s.median_error, 0.04);
  EXPECT_LE(s.median_error_gib, 0.5);
  EXPECT_GE(100 * s.in_range, 90 * s.budgets);
  EXPECT_LE(s.median_width, 0.15);
  EXPECT_GE(s.verdicts, 35U);
  EXPECT_GE(100 * s.verdicts_hold, 95 * s.verdicts);
  for (const accuracy::BudgetRow& row : Caches().budgets) {
    const bool told = row.close() && row.in_range();
    EXPECT_TRUE(told || row.judged_by_range() || !row.log.reason.empty()) << row.log.id;
  }
}

TEST(Accuracy, WhereThereIsLittleAnErrorIsToldInGib) {
  accuracy::BudgetRow row;
  row.printed_gib = 2;
  row.predicted = Range(Gibibytes(1.2).ToBytes(), Gibibytes(1.6).ToBytes(), Gibibytes(2).ToBytes());
  EXPECT_TRUE(row.close());
  EXPECT_TRUE(row.in_range());
  EXPECT_NEAR(row.width(), 0.4, 1e-6);
  row.printed_gib = 20;
  row.predicted.central = Gibibytes(20.7).ToBytes();
  EXPECT_TRUE(row.close());
  row.predicted.central = Gibibytes(20.9).ToBytes();
  EXPECT_FALSE(row.close());
  EXPECT_FALSE(row.in_range());
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
  dir.Write(
      "cases/observed.jsonl",
      R"({"id":"x","model":"m","source":null,"engine":"vllm","version":"0.31.0",)"
      R"("gpu":"h100-80-sxm","nodes":1,"tp":1,"pp":1,"dp":1,"ep":false,)"
      R"("flags":{"speed":1},"config":"configs/x.json","set":{},"use":["weights"],"weights_gib":[1]})"
      "\n");
  const auto cases = accuracy::ReadCases(dir.path());
  ASSERT_FALSE(cases.has_value());
  EXPECT_THAT(cases.error().ToString(), HasSubstr("unknown flag speed"));
}

}  // namespace
}  // namespace shardplan
