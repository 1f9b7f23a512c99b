#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/example_plan.h"
#include "report/plan_document.h"
#include "report/sections.h"

namespace shardplan {
namespace {

using ::testing::HasSubstr;
using testing_support::ExamplePlan;
using testing_support::GiB;

Plan StaticPlan() {
  Plan plan = ExamplePlan();
  plan.engine = "sglang";
  StaticMemoryPlan memory;
  memory.fraction = .85;
  memory.terms = {{"metadata", "of backends", 512}, {"activations", "1.5 MiB × 8,192", 12288}};
  memory.minimum_fraction = .7271;
  memory.smallest_fraction = .75;
  memory.free_before_load = Range(GiB(14), GiB(15), GiB(15.5));
  memory.free_after_load = Range(GiB(5));
  memory.max_running_requests = 55;
  memory.states = StatePoolPlan{69, 277, 5, 55, GiB(.026), GiB(.001), GiB(.025)};
  memory.log = {{"Load weight begin. avail mem=15.00 GB"},
                {"Load weight begin. avail mem=15.00 GB"}};
  plan.static_memory = memory;
  return plan;
}

TEST(StaticMemory, OfSglangAlone) {
  EXPECT_EQ(StaticMemorySection(ExamplePlan(), 100), "");
  EXPECT_EQ(StartupLogSection(ExamplePlan()), "");
}

TEST(StaticMemory, FractionTermsAndPools) {
  const std::string text = StaticMemorySection(StaticPlan(), 100);
  EXPECT_THAT(text, HasSubstr("free before loading    15.00 GiB (14.00 GiB to 15.50 GiB)\n"));
  EXPECT_THAT(text,
              HasSubstr("0.85, SGLang's own: weights and pools of the 15.00 GiB free before"));
  EXPECT_THAT(text, HasSubstr("leaves 12800 MiB: metadata 512 + activations 12288\n"));
  EXPECT_THAT(text, HasSubstr("smallest that works    0.750\n"));
  EXPECT_THAT(text, HasSubstr("277 slots of 26.6 MiB (69 layers), 5 a request: 55 requests\n"));
  EXPECT_THAT(text, HasSubstr("running requests       55 at most, of one DP rank\n"));
  Plan given = StaticPlan();
  given.static_memory->fraction_given = true;
  EXPECT_THAT(StaticMemorySection(given, 100), HasSubstr("0.85: weights and pools"));
}

TEST(StaticMemory, LogLinesByStage) {
  EXPECT_EQ(StartupLogSection(StaticPlan()),
            "What a rank will print, in SGLang's GB (2^30 bytes)\n"
            "  stage 0\n    Load weight begin. avail mem=15.00 GB\n"
            "  stage 1\n    Load weight begin. avail mem=15.00 GB\n");
  Plan one = StaticPlan();
  one.static_memory->log.pop_back();
  EXPECT_EQ(StartupLogSection(one),
            "What a rank will print, in SGLang's GB (2^30 bytes)\n"
            "  Load weight begin. avail mem=15.00 GB\n");
}

TEST(StaticMemory, Document) {
  const Document d = StaticMemoryDocument(*StaticPlan().static_memory);
  EXPECT_EQ(d["fraction"], .85);
  EXPECT_EQ(d["reserve_terms"][1]["mib"], 12288);
  EXPECT_EQ(d["free_before_load"]["low_bytes"], GiB(14).count());
  EXPECT_EQ(d["state_pool"]["slots_per_request"], 5);
  EXPECT_TRUE(d["host_cache"].is_null());
  EXPECT_TRUE(d["window_tokens"].is_null());
  EXPECT_EQ(d["log"][1][0], "Load weight begin. avail mem=15.00 GB");
  EXPECT_TRUE(PlanDocument(ExamplePlan())["static_memory"].is_null());
}

}  // namespace
}  // namespace shardplan
