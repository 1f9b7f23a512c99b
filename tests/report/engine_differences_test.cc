#include "report/engine_differences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/example_plan.h"

namespace shardplan {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing_support::ExamplePlan;
using testing_support::GiB;
using testing_support::IllegalPlan;

Plan SglangPlan() {
  Plan plan = ExamplePlan();
  plan.engine = "sglang";
  plan.defaults = {{"mem-fraction-static", "0.85"}, {"chunked-prefill-size", "8192"}};
  plan.static_memory.emplace();
  plan.static_memory->fraction = .85;
  plan.static_memory->free_before_load = Range(GiB(15));
  for (RankPlan& rank : plan.ranks) {
    rank.budget = GiB(12.75);
    rank.detail.buffers = GiB(.5);
  }
  return plan;
}

std::vector<Variant> Both() {
  Plan vllm = ExamplePlan();
  vllm.defaults = {{"gpu-memory-utilization", "0.92"}, {"max-num-batched-tokens", "16384"}};
  return {{{{"engine", "vllm"}}, vllm}, {{{"engine", "sglang"}}, SglangPlan()}};
}

const EngineDifference* Find(const std::vector<EngineDifference>& all, const std::string& row,
                             bool is_rule) {
  for (const EngineDifference& difference : all) {
    if (difference.row == row && difference.is_rule == is_rule) return &difference;
  }
  return nullptr;
}

TEST(EngineDifferences, RulesAndChoices) {
  const std::vector<EngineDifference> all = EngineDifferences(Both());
  const EngineDifference* const rule = Find(all, "budget", true);
  ASSERT_NE(rule, nullptr);
  EXPECT_EQ(rule->text,
            "vLLM takes a share of the card, SGLang a fraction of the 15.00 GiB that are free "
            "before loading: vLLM 14.00 GiB, SGLang 12.75 GiB");
  const EngineDifference* const choice = Find(all, "budget", false);
  ASSERT_NE(choice, nullptr);
  EXPECT_EQ(choice->text,
            "--gpu-memory-utilization 0.92 (vLLM's own) and --mem-fraction-static 0.85 (SGLang's "
            "own)");
  const EngineDifference* const weights = Find(all, "weights", true);
  ASSERT_NE(weights, nullptr);
  EXPECT_EQ(weights->text,
            "buffers, second copies and rounding beside them: vLLM 0.25 GiB, SGLang 0.62 GiB");
  const EngineDifference* const tokens = Find(all, "activations", false);
  ASSERT_NE(tokens, nullptr);
  EXPECT_EQ(tokens->text, "tokens at once: 16384 (vLLM's own) and 8192 (SGLang's own)");
  // What is the same is no difference.
  EXPECT_EQ(Find(all, "kv_cache", true), nullptr);
}

TEST(EngineDifferences, OneEngineHasNone) {
  EXPECT_TRUE(
      EngineDifferences({{{{"tp", "2"}}, ExamplePlan()}, {{{"tp", "4"}}, ExamplePlan()}}).empty());
  EXPECT_TRUE(EngineDifferences(
                  {{{{"engine", "vllm"}}, IllegalPlan()}, {{{"engine", "sglang"}}, SglangPlan()}})
                  .empty());
}

TEST(EngineDifferences, InTheTableAndTheDocument) {
  const std::string table = RenderComparisonTable(Both());
  EXPECT_THAT(table,
              HasSubstr("Why the engines differ\n  budget       rule    vLLM takes a share"));
  const auto json = nlohmann::json::parse(RenderComparisonJson(Both()));
  EXPECT_EQ(json["engine_differences"][0]["row"], "budget");
  EXPECT_EQ(json["engine_differences"][0]["kind"], "rule");
  EXPECT_EQ(json["engine_differences"][1]["kind"], "choice");
}

}  // namespace
}  // namespace shardplan
