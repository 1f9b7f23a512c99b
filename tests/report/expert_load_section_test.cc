#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/example_plan.h"
#include "report/plan_document.h"
#include "report/sections.h"

namespace shardplan {
namespace {

using ::testing::HasSubstr;
using testing_support::ExamplePlan;

Plan WithLoad() {
  Plan plan = ExamplePlan();
  ExpertLoadPlan load;
  load.file = "a\x1b[2J.csv";
  load.ranks = 2;
  load.redundant = 2;
  load.balancing = true;
  load.before = {1.75, 2, 3, {0.8, 0.2}};
  load.after = ExpertPlacement{1.125, 1.25, 4, {0.45, 0.55}};
  load.layers = {{3, 2, 1.0}, {4, 1.5, 1.25}};
  load.hottest_layer = 3;
  load.hottest_expert = 7;
  load.hottest_share = 0.5;
  plan.expert_load = load;
  return plan;
}

TEST(ExpertLoadSection, BeforeAndAfter) {
  const std::string text = ExpertLoadSection(WithLoad(), 120);
  EXPECT_THAT(text, HasSubstr("a\\x1b[2J.csv, 2 layers\n"));
  EXPECT_THAT(text, HasSubstr("expert 7 of layer 3: 50.0 % of its layer\n"));
  EXPECT_THAT(text, HasSubstr("in order      1.75 over a step, at worst 2.00 in layer 3; most on "
                              "expert rank 0, 80.0 % of all"));
  EXPECT_THAT(text, HasSubstr("EPLB, 2 more  1.12 over a step, at worst 1.25 in layer 4"));
  EXPECT_EQ(ExpertLoadSection(ExamplePlan(), 100), "");
}

TEST(ExpertLoadSection, OffAndImpossible) {
  Plan plan = WithLoad();
  plan.expert_load->balancing = false;
  plan.expert_load->redundant = 0;
  EXPECT_THAT(ExpertLoadSection(plan, 200), HasSubstr("(with --enable-eplb, which is off)"));
  plan.expert_load->after.reset();
  EXPECT_THAT(ExpertLoadSection(plan, 200), HasSubstr("don't divide over the ranks"));
  plan.expert_load->ranks = 1;
  EXPECT_THAT(ExpertLoadSection(plan, 200), HasSubstr("loads are even"));
}

TEST(ExpertLoadSection, Document) {
  const Document d = PlanDocument(WithLoad())["expert_load"];
  EXPECT_EQ(d["ranks"], 2);
  EXPECT_EQ(d["before"]["step_imbalance"], 1.75);
  EXPECT_EQ(d["before"]["shares"][0], 0.8);
  EXPECT_EQ(d["after"]["worst_layer"], 4);
  EXPECT_EQ(d["layers"][1]["imbalance_after"], 1.25);
  EXPECT_EQ(d["hottest"]["expert"], 7);
  EXPECT_TRUE(PlanDocument(ExamplePlan())["expert_load"].is_null());
}

}  // namespace
}  // namespace shardplan
