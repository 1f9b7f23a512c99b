#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/example_plan.h"
#include "report/plan_document.h"
#include "report/sections.h"
#include "report/text.h"

namespace shardplan {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing_support::ExamplePlan;

StepTraffic Step(int64_t tokens) {
  StepTraffic step;
  step.tokens = tokens;
  step.items = {
      {TrafficKind::kTensorParallel, {Bytes(3 * kMiB * tokens), Bytes()}, "all-reduce over TP 2"},
      {TrafficKind::kPipeline, {Bytes(), Bytes(kMiB * tokens)}, "from stage to stage"}};
  step.sent = {Bytes(3 * kMiB * tokens), Bytes(kMiB * tokens)};
  step.node_network = Bytes(kMiB * tokens);
  step.rank_inside = Bytes(kMiB / 2 * tokens);
  step.network_seconds = 0.0025;
  step.inside_seconds = 1.5e-5;
  return step;
}

Plan WithTraffic() {
  Plan plan = ExamplePlan();
  TrafficPlan traffic;
  traffic.rates.nvlink = LinkRate{450, 450, 450, Basis::kExact, "data sheet"};
  traffic.rates.network = {400, 100, 800, Basis::kAssumed, "8 × 400 Gb/s a node"};
  traffic.prefill = Step(8192);
  traffic.decode = Step(1);
  traffic.notes = {"experts are taken as chosen evenly"};
  plan.traffic = traffic;
  return plan;
}

TEST(TrafficSection, AFewLines) {
  EXPECT_EQ(TrafficSection(WithTraffic(), 100, false),
            "Traffic, derived: bytes by ring; times are lower bounds at link rate, no forecasts\n"
            "  one batch through all stages    network  busiest node     NVLink  busiest card\n"
            "  prefill of 8,192 tokens       8.000 GiB      ≥ 2.5 ms  4.000 GiB       ≥ 15 µs\n"
            "  decode of 1 token                 1 MiB      ≥ 2.5 ms  512.0 KiB       ≥ 15 µs\n"
            "  a decoded token moves 3 MiB over NVLink and 1 MiB over the network, all ranks "
            "together\n"
            "  links: network 400 GB/s a node (assumed: 8 × 400 Gb/s a node); NVLink 450 GB/s a "
            "card\n");
}

TEST(TrafficSection, VerboseTellsWhatMoves) {
  const std::string text = TrafficSection(WithTraffic(), 120, true);
  EXPECT_THAT(text, HasSubstr("tensor parallel"));
  EXPECT_THAT(text, HasSubstr("from stage to stage\n"));
  EXPECT_THAT(text, HasSubstr("  experts are taken as chosen evenly\n"));
}

TEST(TrafficSection, OneNodeHasNoNetworkAndOneCardNothing) {
  Plan plan = WithTraffic();
  for (StepTraffic* step : {&plan.traffic->prefill, &plan.traffic->decode}) {
    step->sent.network = step->node_network = Bytes();
    step->items.pop_back();
  }
  EXPECT_THAT(TrafficSection(plan, 100, false), Not(HasSubstr("network")));
  plan.ranks.resize(1);
  EXPECT_EQ(TrafficSection(plan, 100, false), "");
  EXPECT_EQ(TrafficSection(ExamplePlan(), 100, false), "");
}

TEST(TrafficSection, FitsTheLine) {
  for (const bool verbose : {false, true}) {
    const std::string text = TrafficSection(WithTraffic(), 100, verbose);
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = text.find('\n', begin);
      EXPECT_LE(DisplayWidth(text.substr(begin, end - begin)), 100u);
      begin = end + 1;
    }
  }
}

TEST(TrafficSection, Document) {
  const Document d = PlanDocument(WithTraffic())["traffic"];
  EXPECT_EQ(d["inside"], "NVLink");
  EXPECT_EQ(d["rates"]["network"]["gb_per_s"], 400);
  EXPECT_EQ(d["rates"]["network"]["basis"], "assumed");
  EXPECT_TRUE(d["rates"]["pcie"].is_null());
  EXPECT_EQ(d["decode"]["network_bytes"], kMiB);
  EXPECT_EQ(d["decode"]["network_bytes_per_token"], double{kMiB});
  EXPECT_EQ(d["prefill"]["busiest_node"]["seconds_at_link_rate"], 0.0025);
  EXPECT_EQ(d["prefill"]["items"][1]["kind"], "pipeline");
  EXPECT_EQ(d["notes"].size(), 1u);
  EXPECT_TRUE(PlanDocument(ExamplePlan())["traffic"].is_null());
  EXPECT_TRUE(PlanDocument(testing_support::IllegalPlan())["traffic"].is_null());
}

}  // namespace
}  // namespace shardplan
