// docs/accuracy.md: it says what the program prints, and the predictions are as close as promised.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "shardplan/base/units.h"
#include "support/temp_dir.h"
#include "tools/accuracy/cache_rows.h"
#include "tools/accuracy/comparison.h"
#include "tools/accuracy/sglang_rows.h"

namespace shardplan {
namespace {

using accuracy::Comparison;
using testing_support::ReadText;

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

const accuracy::SglangRows& Sglang() {
  static const accuracy::SglangRows rows = [] {
    const std::string data = SHARDPLAN_TEST_DATA;
    const auto cases = accuracy::ReadCases(data);
    const auto store = ConfigStore::WithOverrides(data + "/cases");
    if (!cases || !store) return accuracy::SglangRows();
    const auto compared = accuracy::CompareSglang(*cases, *store);
    EXPECT_TRUE(compared.has_value()) << (compared ? "" : compared.error().ToString());
    return compared ? *compared : accuracy::SglangRows();
  }();
  return rows;
}

TEST(Accuracy, TheDocumentIsWhatTheProgramPrints) {
  EXPECT_EQ(accuracy::Render(Rows()) + accuracy::RenderCaches(Caches()) +
                accuracy::RenderSglang(Sglang()),
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

// No row may fall out of the comparison unseen.
TEST(Accuracy, EveryRowIsModelled) {
  for (const Comparison& row : Rows()) EXPECT_EQ(row.not_modelled, "") << row.log.id;
  for (const auto& row : Sglang().from_pool) EXPECT_EQ(row.not_modelled, "") << row.log.id;
  for (const auto& row : Sglang().from_flags) EXPECT_EQ(row.not_modelled, "") << row.log.id;
  for (const auto& row : Sglang().starts) EXPECT_EQ(row.not_modelled, "") << row.log.id;
  for (const auto& row : Sglang().unexplained) EXPECT_EQ(row.start.not_modelled, "");
}

// A printed pool leaves nothing to guess; the fraction's tokens are promised nothing but a range.
TEST(Accuracy, SglangIsAsCloseAsPromised) {
  const accuracy::SglangSummary s = accuracy::Summarize(Sglang());
  EXPECT_EQ(s.from_pool, 4U);
  EXPECT_EQ(s.from_flags, 3U);
  EXPECT_EQ(s.starts, 3U);
  for (const accuracy::SglangTokens& row : Sglang().from_pool) {
    EXPECT_LE(std::abs(row.error()), 0.002) << row.log.id;
    EXPECT_TRUE(row.in_range()) << row.log.id;
  }
  for (const accuracy::SglangTokens& row : Sglang().from_flags) {
    EXPECT_TRUE(row.in_range() || !row.log.reason.empty()) << row.log.id;
  }
  for (const accuracy::VerdictRow& row : Sglang().starts) EXPECT_TRUE(row.holds()) << row.log.id;
  size_t weights = 0;
  for (const Comparison& row : Rows()) {
    if (row.log.deployment.engine != "sglang") continue;
    ++weights;
    EXPECT_LE(std::abs(row.error()), 0.02) << row.log.id;
  }
  EXPECT_EQ(weights, 1U);
}

// One row, by name, and it says why: the list is no place to hide what misses.
TEST(Accuracy, OneStartOfSglangIsUnexplained) {
  ASSERT_EQ(Sglang().unexplained.size(), 1U);
  const accuracy::UnexplainedStart& row = Sglang().unexplained[0];
  EXPECT_EQ(row.start.log.id, "inferencex2128-dsv4pro-8h200-tp8-fail");
  EXPECT_NEAR(row.error(), -0.184, 0.001);
  EXPECT_FALSE(row.start.log.reason.empty());
}

TEST(Accuracy, SglangTokensAreWholePagesOfThePool) {
  KvPlan kv;
  kv.block_tokens = 64;
  kv.bytes_per_block_by_stage = {Bytes(640)};
  EXPECT_EQ(accuracy::TokensOfPool(Bytes(640 * 3), kv), 192);
  EXPECT_EQ(accuracy::TokensOfPool(Bytes(640 * 3 - 1), kv), 128);
  EXPECT_EQ(accuracy::TokensOfPool(Bytes(639), kv), 0);
}

TEST(Accuracy, SglangSummaryCountsWhatMisses) {
  accuracy::SglangTokens near;
  near.log.kv_tokens = 100'000;
  near.low = 99'700;
  near.central = 99'801;
  near.high = 99'900;
  EXPECT_TRUE(near.close());
  EXPECT_FALSE(near.in_range());
  accuracy::SglangTokens far = near;
  far.central = 99'799;
  EXPECT_FALSE(far.close());
  accuracy::SglangTokens unknown = near;
  unknown.not_modelled = "a family";
  EXPECT_FALSE(unknown.close());
  accuracy::VerdictRow refused;
  refused.log.result = "refused";
  refused.verdict = Verdict::kFits;
  const accuracy::SglangSummary s =
      accuracy::Summarize(accuracy::SglangRows{{near, far, unknown}, {near}, {refused}, {}});
  EXPECT_EQ(s.from_pool, 3U);
  EXPECT_EQ(s.from_pool_close, 1U);
  EXPECT_EQ(s.from_pool_in_range, 0U);
  EXPECT_NEAR(s.largest_from_pool, 0.00201, 1e-9);
  EXPECT_EQ(s.from_flags_in_range, 0U);
  EXPECT_EQ(s.starts, 1U);
  EXPECT_EQ(s.starts_hold, 0U);
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

}  // namespace
}  // namespace shardplan
