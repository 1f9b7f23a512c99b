#include "report/comparison_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "report/example_plan.h"

namespace shardplan {
namespace {

using ::testing::ElementsAre;
using testing_support::ExamplePlan;
using testing_support::GiB;
using testing_support::IllegalPlan;
using testing_support::ShortPlan;

std::vector<Variant> Three() {
  return {{{{"tp", "2"}, {"dtype", "auto"}}, ExamplePlan()},
          {{{"tp", "4"}, {"dtype", "auto"}}, ShortPlan()},
          {{{"tp", "7"}, {"dtype", "auto"}}, IllegalPlan()}};
}

const ComparisonRow* FindRow(const std::vector<ComparisonGroup>& groups, const std::string& heading,
                             const std::string& label) {
  for (const ComparisonGroup& group : groups) {
    if (group.heading.find(heading) == std::string::npos) continue;
    for (const ComparisonRow& row : group.rows) {
      if (row.label == label) return &row;
    }
  }
  return nullptr;
}

std::vector<std::string> Cells(const std::vector<ComparisonGroup>& groups,
                               const std::string& heading, const std::string& label) {
  const ComparisonRow* const row = FindRow(groups, heading, label);
  return row == nullptr ? std::vector<std::string>() : row->cells;
}

TEST(ComparisonRowsTest, VerdictsAndWhatIsShort) {
  const auto groups = ComparisonRows(Three());
  EXPECT_THAT(Cells(groups, "", "variant"), ElementsAre("1", "2", "3"));
  EXPECT_THAT(Cells(groups, "", "tp"), ElementsAre("2", "4", "7"));
  EXPECT_THAT(Cells(groups, "", "verdict"), ElementsAre("fits", "does not fit", "illegal"));
  EXPECT_THAT(Cells(groups, "", "what is short"), ElementsAre("-", "kv_cache", ""));
  EXPECT_THAT(Cells(groups, "", "  on rank"), ElementsAre("-", "1", ""));
  EXPECT_THAT(Cells(groups, "", "  by"), ElementsAre("-", "3.250 GiB", ""));
  // An option with one value is among the things that are the same; the ends agree.
  EXPECT_FALSE(FindRow(groups, "", "dtype")->always);
  EXPECT_EQ(FindRow(groups, "", "  at the dear end of the ranges"), nullptr);
}

TEST(ComparisonRowsTest, TheEndsOfTheRangesWhereTheyMatter) {
  std::vector<Variant> variants = Three();
  variants[0].plan.verdict_high = Verdict::kDoesNotFit;
  const auto groups = ComparisonRows(variants);
  EXPECT_THAT(Cells(groups, "", "  at the dear end of the ranges"),
              ElementsAre("does not fit", "-", ""));
}

// Each account on its side of the budget; they sum to the card.
TEST(ComparisonRowsTest, TheLedgerOfTheFullestRank) {
  const auto groups = ComparisonRows(Three());
  EXPECT_THAT(Cells(groups, "in the engine's budget", "rank"), ElementsAre("0", "1", ""));
  EXPECT_THAT(Cells(groups, "in the engine's budget", "weights"),
              ElementsAre("8.000", "8.000", ""));
  EXPECT_THAT(Cells(groups, "in the engine's budget", "kv_cache"),
              ElementsAre("4.000", "4.000", ""));
  EXPECT_THAT(Cells(groups, "in the engine's budget", "headroom"),
              ElementsAre("0.500", "0.500", ""));
  EXPECT_THAT(Cells(groups, "in the engine's budget", "= budget"),
              ElementsAre("14.000", "14.000", ""));
  EXPECT_THAT(Cells(groups, "outside the budget", "cuda_context"),
              ElementsAre("0.500", "0.500", ""));
  EXPECT_THAT(Cells(groups, "outside the budget", "headroom"), ElementsAre("1.000", "1.000", ""));
  EXPECT_THAT(Cells(groups, "outside the budget", "= card"), ElementsAre("16.000", "16.000", ""));
  EXPECT_EQ(FindRow(groups, "budget", "cuda_graphs"), nullptr);  // nobody has it
  EXPECT_THAT(Cells(groups, "host memory", "pinned, really taken"),
              ElementsAre("6.000", "6.000", ""));
}

TEST(ComparisonRowsTest, Cache) {
  const auto groups = ComparisonRows(Three());
  EXPECT_THAT(Cells(groups, "KV cache", "blocks"), ElementsAre("2,048", "2,048", ""));
  EXPECT_THAT(Cells(groups, "KV cache", "concurrency"), ElementsAre("2.36×", "2.36×", ""));
  EXPECT_THAT(Cells(groups, "KV cache", "tokens"), ElementsAre("1,234,955", "1,234,955", ""));
}

TEST(ComparisonRowsTest, AnEngineIsToldOnce) {
  std::vector<Variant> variants = {{{{"engine", "vllm@9.9.8"}}, ExamplePlan()},
                                   {{{"engine", "vllm"}}, ExamplePlan()}};
  variants[0].plan.engine_version = "9.9.8";
  EXPECT_THAT(Cells(ComparisonRows(variants), "deployment", "engine"),
              ElementsAre("vllm@9.9.8", "vllm@9.9.9"));
  variants[1].options[0].second = "vllm@9.9.9";
  EXPECT_EQ(FindRow(ComparisonRows(variants), "deployment", "engine"), nullptr);
}

// An illegal variant has nothing to differ in; one without an account differs.
TEST(ComparisonRowTest, SameInAllThatAreLegal) {
  ComparisonRow row = {"x", "", {"", "1", "", "1"}, false, false};
  EXPECT_TRUE(row.IsSameInAll());
  EXPECT_EQ(row.Common(), "1");
  row.cells[2] = "-";
  EXPECT_FALSE(row.IsSameInAll());
}

TEST(FullestRankTest, TheOneThatIsShortOrHasTheLeastHeadroom) {
  Plan plan = ExamplePlan();
  plan.ranks[3].headroom = GiB(0.5);
  EXPECT_EQ(FullestRank(plan)->place.rank, 3);
  plan.limiting = {1, Account::kKvCache, GiB(1)};
  EXPECT_EQ(FullestRank(plan)->place.rank, 1);
  EXPECT_EQ(FullestRank(IllegalPlan()), nullptr);
}

TEST(ComparisonRows, LinksAndLoading) {
  Variant one{{{"tp", "8"}}, ExamplePlan()};
  Variant two{{{"tp", "16"}}, ExamplePlan()};
  TrafficPlan traffic;
  traffic.decode.tokens = 2;
  traffic.decode.sent = {Bytes(8 * kMiB), Bytes(4 * kMiB)};
  traffic.decode.node_network = Bytes(3 * kMiB);
  traffic.prefill.rank_inside = Bytes(300 * kMiB);
  two.plan.traffic = traffic;
  traffic.decode.sent.network = traffic.decode.node_network = Bytes();
  one.plan.traffic = traffic;
  LoadingPlan loading;
  loading.nodes.resize(2);
  loading.nodes[1].tensors = Bytes(kGiB);
  two.plan.loading = loading;
  std::map<std::string, std::vector<std::string>> rows;
  for (const ComparisonGroup& group : ComparisonRows({one, two})) {
    if (group.heading.find("links") != 0 && group.heading.find("loading") != 0) continue;
    for (const ComparisonRow& row : group.rows) rows[row.label] = row.cells;
  }
  using Cells = std::vector<std::string>;
  EXPECT_EQ(rows["network, decode: a node"], (Cells{"-", "3.000"}));
  EXPECT_EQ(rows["network, a decoded token: all"], (Cells{"-", "2.000"}));
  EXPECT_EQ(rows["inside, a decoded token: all"], (Cells{"4.000", "4.000"}));
  EXPECT_EQ(rows["inside, prefill: a card"], (Cells{"300.0", "300.0"}));
  EXPECT_EQ(rows["tensors to read"], (Cells{"-", "1.000"}));
  EXPECT_EQ(rows.count("network, prefill: a node"), 0u);
}

}  // namespace
}  // namespace shardplan
