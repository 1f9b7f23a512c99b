#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/example_plan.h"
#include "report/sections.h"

namespace shardplan {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing_support::ExamplePlan;
using testing_support::ExampleRank;
using testing_support::GiB;

TEST(RankSectionTest, AColumnForEachStage) {
  EXPECT_EQ(
      RankSection(ExamplePlan(), 100),
      "Memory of one rank, GiB\n"
      "                                          stage 0                     stage 1\n"
      "                             basis     ranks 0, 1  low to high     ranks 2, 3  low to high\n"
      "  counted by the engine, in its budget\n"
      "    weights                  exact          8.000                       7.000\n"
      "    activations              derived        1.500  1.000 to 2.000       1.500  1.000 to "
      "2.000\n"
      "    kv_cache                 derived        4.000                       4.000\n"
      "    headroom                 derived        0.500  0.000 to 1.000       1.500  1.000 to "
      "2.000\n"
      "    = budget                               14.000                      14.000\n"
      "  outside the budget\n"
      "    driver_reserved          measured       0.500                       0.500\n"
      "    cuda_context             assumed        0.500  0.250 to 1.000       0.500  0.250 to "
      "1.000\n"
      "    headroom                 assumed        1.000  0.500 to 1.250       1.000  0.500 to "
      "1.250\n"
      "    = card                                 16.000                      16.000\n"
      "  weights in detail\n"
      "    parameters, as created                  8.750                       7.750\n"
      "    buffers                                 0.125                       0.125\n"
      "    post-load processing                    0.125                       0.125\n"
      "    allocator rounding                      0.000                       0.000\n"
      "    - offloaded to the host                -1.000                      -1.000\n"
      "    = resident                              8.000                       7.000\n"
      "    peak while loading                      9.500                       8.500\n"
      "  3.7 % of these bytes rest on assumptions, headroom aside.\n");
}

TEST(RankSectionTest, NothingWithoutRanks) {
  Plan plan = ExamplePlan();
  plan.ranks.clear();
  EXPECT_EQ(RankSection(plan, 100), "");
  EXPECT_EQ(SourcesSection(plan, 100), "");
}

TEST(RankSectionTest, ShowsTheFullestRankWhereTheyDiffer) {
  Plan plan = ExamplePlan();
  RankPlan& fuller = plan.ranks[1];
  Ledger ledger(fuller.device_total, fuller.capacity, Range(fuller.budget));
  ledger.Add({Account::kWeights, true, Range(GiB(9)), Basis::kExact, "one more expert"});
  ledger.Close();
  fuller.ledger = ledger;
  fuller.headroom = GiB(1);
  const std::string text = RankSection(plan, 100);
  EXPECT_THAT(text, HasSubstr("The ranks of stage 0 differ; shown is the fullest, rank 1.\n"));
  EXPECT_THAT(text, HasSubstr("9.000"));
  EXPECT_THAT(text, Not(HasSubstr("stage 1 differ")));
}

TEST(RankSectionTest, ManyStagesGoBelowEachOther) {
  Plan plan = ExamplePlan();
  plan.sizes = {1, 6, 1, 1, false};
  plan.ranks.clear();
  for (const RankPlace& place : PlaceRanks(plan.sizes, 2)) plan.ranks.push_back(ExampleRank(place));
  const std::string text = RankSection(plan, 100);
  EXPECT_THAT(text, HasSubstr("stage 5"));
  EXPECT_THAT(text, HasSubstr("rank 5"));
  size_t tables = 0;
  for (size_t at = text.find("= card"); at != text.npos; at = text.find("= card", at + 1)) ++tables;
  EXPECT_GE(tables, 2U);
}

TEST(SourcesSectionTest, EverySourceOnce) {
  EXPECT_EQ(SourcesSection(ExamplePlan(), 100),
            "Where the numbers come from\n"
            "  driver_reserved  measured  a reading\n"
            "  cuda_context     assumed   a guess\n"
            "  weights          exact     headers\n"
            "  activations      derived   the binding phase\n"
            "  kv_cache         derived   2,048 blocks\n"
            "  headroom         derived   budget less everything the engine counts\n"
            "  headroom         assumed   card less budget, less what the engine never counts\n");
}

}  // namespace
}  // namespace shardplan
