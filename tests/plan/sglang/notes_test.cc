#include "plan/sglang/notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/sglang/assemble.h"
#include "shardplan/base/units.h"
#include "support/sglang_world.h"

namespace shardplan {
namespace {

using ::testing::HasSubstr;
using testing_support::BaselineKimiK3;
using testing_support::Evaluate;
using testing_support::ExampleFromConfig;
using testing_support::FindingOf;
using testing_support::HasFinding;
using testing_support::OnSglang;

// The smallest fraction is one: a thousandth less does not hold the window.
TEST(SglangNotes, TheSmallestFractionIsTheSmallest) {
  Deployment d = BaselineKimiK3();
  const Plan plan = Evaluate(ExampleFromConfig("kimi-k3"), d);
  ASSERT_TRUE(plan.static_memory->smallest_fraction);
  const double smallest = *plan.static_memory->smallest_fraction;
  d.sglang.mem_fraction_static = smallest;
  EXPECT_EQ(Evaluate(ExampleFromConfig("kimi-k3"), d).verdict, Verdict::kFits);
  d.sglang.mem_fraction_static = smallest - .001;
  EXPECT_EQ(Evaluate(ExampleFromConfig("kimi-k3"), d).verdict, Verdict::kDoesNotFit);
  EXPECT_THAT(FindingOf(plan.findings, "sglang.fraction").message,
              HasSubstr("is the smallest that holds what is asked"));
}

TEST(SglangNotes, QuotesWhatSglangWouldSay) {
  Deployment d = BaselineKimiK3();
  d.sglang.mem_fraction_static = .7;
  const Plan plan = Evaluate(ExampleFromConfig("kimi-k3"), d);
  const Finding& refusal = FindingOf(plan.findings, "fit.states");
  EXPECT_THAT(refusal.message, HasSubstr("SGLang would say: Not enough GPU memory for hybrid "
                                         "(mamba/linear-attention) state cache."));
  Deployment dense = OnSglang("h100-80-sxm", 2);
  dense.sglang.mem_fraction_static = .8;
  const Plan full = Evaluate(ExampleFromConfig("dense-70b"), dense);
  EXPECT_THAT(FindingOf(full.findings, "fit.no_kv_memory").message,
              HasSubstr("SGLang would say: Loaded weights leave no GPU memory for the KV cache "
                        "under --mem-fraction-static=0.8."));
}

TEST(SglangNotes, PaddingReplicasAndWhatIsIgnored) {
  Deployment d = BaselineKimiK3();
  d.sglang.ep_size = 1;
  EXPECT_THAT(
      FindingOf(Evaluate(ExampleFromConfig("kimi-k3"), d).findings, "weights.expert_padding")
          .message,
      HasSubstr("a slice of 192 is padded to 256 (+33 %)"));
  d = BaselineKimiK3();
  d.sglang.moe_a2a_backend = "deepep";
  d.sglang.enable_symm_mem = true;
  const Plan plan = Evaluate(ExampleFromConfig("kimi-k3"), d);
  EXPECT_TRUE(HasFinding(plan.findings, "weights.replicated_shared"));
  EXPECT_TRUE(HasFinding(plan.findings, "sglang.symm_mem_ignored"));
  // 22.64 GiB of shared experts stand whole: 123.0 GiB.
  EXPECT_NEAR(InGiB(plan.ranks[0].weights).value(), 123.0, .1);
}

// Smallest and largest are what to write, whatever a backend makes of it.
TEST(SglangNotes, FractionsAreFlags) {
  Deployment d = OnSglang("mi300x-192", 8);
  const Model& model = ExampleFromConfig("deepseek-v3");
  d.settings.max_model_len = d.sglang.context_length = 32'768;
  const Plan plan = Evaluate(model, d);
  ASSERT_TRUE(plan.static_memory->smallest_fraction);
  d.sglang.mem_fraction_static = *plan.static_memory->smallest_fraction;
  EXPECT_EQ(Evaluate(model, d).verdict, Verdict::kFits);
  d.sglang.mem_fraction_static = *plan.static_memory->smallest_fraction - .001;
  EXPECT_EQ(Evaluate(model, d).verdict, Verdict::kDoesNotFit);
}

TEST(SglangNotes, AitersFactorIsTold) {
  Deployment d = OnSglang("mi300x-192", 1);
  d.sglang.mem_fraction_static = .9;
  const Plan plan = Evaluate(ExampleFromConfig("dense-70b"), d);
  EXPECT_DOUBLE_EQ(plan.static_memory->fraction, .9 * .85);
  EXPECT_TRUE(HasFinding(plan.findings, "sglang.aiter_fraction"));
}

}  // namespace
}  // namespace shardplan
