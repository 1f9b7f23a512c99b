#include "plan/sglang/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/sglang_world.h"

namespace shardplan {
namespace {

using ::testing::HasSubstr;
using testing_support::BaselineKimiK3;
using testing_support::Cards;
using testing_support::Evaluate;
using testing_support::ExampleFromConfig;
using testing_support::OnSglang;
using testing_support::Store;

std::string FixOf(const std::string& example, const Deployment& d) {
  const Plan plan = Evaluate(ExampleFromConfig(example), d);
  EXPECT_EQ(plan.verdict, Verdict::kDoesNotFit);
  for (const Finding& finding : plan.findings) {
    if (finding.severity == Severity::kError && !finding.fix.empty()) return finding.fix;
  }
  return "";
}

// Every fix that is named, tried.
TEST(SglangPlanner, AFractionThatFits) {
  Deployment d = BaselineKimiK3();
  d.sglang.mem_fraction_static = .74;
  const std::string fix = FixOf("kimi-k3", d);
  ASSERT_THAT(fix, HasSubstr("--mem-fraction-static 0."));
  d.sglang.mem_fraction_static = std::stod(fix.substr(fix.find("0.")));
  EXPECT_EQ(Evaluate(ExampleFromConfig("kimi-k3"), d).verdict, Verdict::kFits);
}

TEST(SglangPlanner, ARatioThatFits) {
  Deployment d = BaselineKimiK3();
  d.settings.max_model_len = d.sglang.context_length = 400'000;
  const std::string fix = FixOf("kimi-k3", d);
  const size_t at = fix.find("--mamba-full-memory-ratio ");
  ASSERT_NE(at, std::string::npos) << fix;
  d.sglang.mamba_full_memory_ratio = std::stod(fix.substr(at + 26));
  EXPECT_EQ(Evaluate(ExampleFromConfig("kimi-k3"), d).verdict, Verdict::kFits);
}

TEST(SglangPlanner, WholeExpertsAndMoreCards) {
  Deployment d = BaselineKimiK3();
  d.sglang.ep_size = 1;  // 130 GiB of padded experts
  EXPECT_THAT(FixOf("kimi-k3", d), HasSubstr("--ep-size 16 (on the same cards)"));
  d = BaselineKimiK3();
  d.gpu = "h20-96";
  EXPECT_THAT(FixOf("kimi-k3", d), HasSubstr("--pp-size"));
}

TEST(SglangPlanner, ExplanationsSumToTheWeights) {
  Deployment d = OnSglang("h200-141", 8);
  d.sglang.speculative_algorithm = "EAGLE";
  const Model& model = ExampleFromConfig("deepseek-v3");
  const Plan plan = Evaluate(model, d);
  const auto items = ExplainWeights(model, Cards(), Store(), d, 3);
  ASSERT_TRUE(items.has_value());
  Bytes sum;
  bool copies = false;
  for (const WeightItem& item : *items) {
    sum += item.bytes;
    copies = copies || item.name == "w_kc, w_vc";
    EXPECT_FALSE(item.source.empty()) << item.name;
  }
  EXPECT_EQ(sum, plan.ranks[3].weights);
  EXPECT_TRUE(copies);
  const auto none = ExplainWeights(model, Cards(), Store(), d, 8);
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().ToString(), "--rank 8: expected a rank from 0 to 7");
}

}  // namespace
}  // namespace shardplan
