#include "plan/fixes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "shardplan/base/units.h"
#include "support/cluster_world.h"

namespace shardplan {
namespace {

using testing_support::EnvironmentFor;
using testing_support::Evaluate;
using testing_support::ExampleFromConfig;
using testing_support::PublishedKimiK3;

Deployment WithoutOffload() {
  Deployment d = PublishedKimiK3();
  d.settings.cpu_offload_gb = 0;
  d.settings.cpu_offload_params.clear();
  return d;
}

TEST(Fixes, SmallestOffloadIsTheFirstThatFits) {
  const Model& model = ExampleFromConfig("kimi-k3");
  const Deployment d = WithoutOffload();
  const auto fix = SmallestOffload(EnvironmentFor(model, d), d);
  ASSERT_TRUE(fix.has_value());
  Deployment less = *fix;
  EXPECT_EQ(Evaluate(model, less).verdict, Verdict::kFits);
  // Linear search over the real evaluation agrees with the binary one.
  for (double gb = 0; gb < fix->settings.cpu_offload_gb; gb += 1) {
    less.settings.cpu_offload_gb = gb;
    EXPECT_NE(Evaluate(model, less).verdict, Verdict::kFits) << gb;
  }
}

// More offload than is needed would not fit a node's own memory: the smallest does, or none.
TEST(Fixes, TheSmallestOffloadFitsTheHost) {
  const Model& model = ExampleFromConfig("kimi-k3");
  Deployment d = WithoutOffload();
  const auto free = SmallestOffload(EnvironmentFor(model, d), d);
  ASSERT_TRUE(free.has_value());
  Bytes needed;
  for (const HostPlan& host : Evaluate(model, *free).host) {
    needed = std::max(needed, host.pinned_allocated);
  }
  d.gpu.clear();
  for (const int64_t more : {0, -1}) {
    NodeKind kind = testing_support::Server("h20-96", 8, 2);
    kind.memory = testing_support::Told(needed + Bytes(more));
    d.cluster = testing_support::Cluster({kind});
    const auto fix = SmallestOffload(EnvironmentFor(model, d), d);
    EXPECT_EQ(fix.has_value(), more == 0);
    if (fix) {
      EXPECT_EQ(fix->settings.cpu_offload_gb, free->settings.cpu_offload_gb);
    }
  }
}

TEST(Fixes, LargestWindowIsTheLastThatFits) {
  const Model& model = ExampleFromConfig("dense-70b");
  Deployment d;
  d.gpu = "h100-80-sxm";
  d.sizes.tp = 2;
  d.settings.max_num_seqs = 8;
  ASSERT_EQ(Evaluate(model, d).verdict, Verdict::kDoesNotFit);
  const auto fix = LargestFittingWindow(EnvironmentFor(model, d), d);
  ASSERT_TRUE(fix.has_value());
  Deployment at = *fix;
  EXPECT_EQ(Evaluate(model, at).verdict, Verdict::kFits);
  at.settings.max_model_len = *at.settings.max_model_len + 1;
  EXPECT_EQ(Evaluate(model, at).verdict, Verdict::kDoesNotFit);
}

TEST(Fixes, AWindowHoldsTheOutputThatWasAskedFor) {
  const Model& model = ExampleFromConfig("dense-70b");
  Deployment d;
  d.gpu = "h100-80-sxm";
  d.sizes.tp = 2;
  d.settings.max_num_seqs = 8;
  const auto any = LargestFittingWindow(EnvironmentFor(model, d), d);
  ASSERT_TRUE(any.has_value());
  const int64_t largest = *any->settings.max_model_len;
  for (const int64_t output : {int64_t{1}, largest - 1}) {
    d.output_tokens = output;
    const auto fix = LargestFittingWindow(EnvironmentFor(model, d), d);
    ASSERT_TRUE(fix.has_value()) << output;
    EXPECT_EQ(fix->settings.max_model_len, largest) << output;
  }
  d.output_tokens = largest;
  EXPECT_FALSE(LargestFittingWindow(EnvironmentFor(model, d), d).has_value());
  d.output_tokens.reset();
  d.typical_tokens = largest;
  EXPECT_TRUE(LargestFittingWindow(EnvironmentFor(model, d), d).has_value());
  d.typical_tokens = largest + 1;
  EXPECT_FALSE(LargestFittingWindow(EnvironmentFor(model, d), d).has_value());
}

// The largest window that fits is offered where somebody could use it: 1,024 tokens, or a quarter
// of what was asked for.
TEST(Fixes, TinyWindowsAreNotOffered) {
  const Model& model = ExampleFromConfig("dense-70b");
  Deployment d;
  d.gpu = "h100-80-sxm";
  d.sizes.tp = 2;
  d.settings.max_num_seqs = 8;
  const auto largest_at = [&](int64_t cache_mib, int64_t asked) -> int64_t {
    d.settings.kv_cache_memory_bytes = Bytes(cache_mib * kMiB);
    d.settings.max_model_len = asked;
    const auto fix = LargestFittingWindow(EnvironmentFor(model, d), d);
    return fix ? *fix->settings.max_model_len : 0;
  };
  // A token costs 160 KiB a rank; a block has 16 tokens and one is the null block.
  EXPECT_EQ(largest_at(161, 131'072), 0);     // 1,008 tokens
  EXPECT_EQ(largest_at(163, 131'072), 1024);  // 1,024
  EXPECT_EQ(largest_at(161, 4033), 0);        // less than a quarter
  EXPECT_EQ(largest_at(161, 4032), 1008);
  EXPECT_EQ(largest_at(20, 400), 112);
  EXPECT_EQ(largest_at(20, 131'072), 0);
}

TEST(Fixes, NoWindowMendsWeightsThatDoNotFit) {
  const Deployment d = WithoutOffload();
  EXPECT_FALSE(
      LargestFittingWindow(EnvironmentFor(ExampleFromConfig("kimi-k3"), d), d).has_value());
}

TEST(Fixes, FewestCardsAddsStages) {
  const Model& model = ExampleFromConfig("kimi-k3");
  const Deployment d = WithoutOffload();
  const auto fix = FewestCards(EnvironmentFor(model, d), d);
  ASSERT_TRUE(fix.has_value());
  EXPECT_EQ(fix->sizes.world(), 24);
  EXPECT_EQ(Evaluate(model, *fix).verdict, Verdict::kFits);
}

// What is printed can be pasted: nodes and sizes of the fix are the plan's own.
TEST(Fixes, FewestCardsNamesALegalPlacement) {
  const Model& model = ExampleFromConfig("deepseek-v3");
  Deployment d;
  d.gpu = "h20-96";
  d.settings.max_model_len = 32'768;
  d.settings.max_num_seqs = 64;
  const auto fix = FewestCards(EnvironmentFor(model, d), d);
  ASSERT_TRUE(fix.has_value());
  EXPECT_EQ(Evaluate(model, *fix).verdict, Verdict::kFits);
  EXPECT_EQ(*fix->nodes, 1);
  EXPECT_EQ(fix->sizes.tp, 8);  // a node of tensor parallelism before stages of single cards
  EXPECT_EQ(fix->sizes.pp, 1);
}

TEST(Fixes, ExpertParallelismIsOfferedWhereItAloneMendsIt) {
  const Model& model = ExampleFromConfig("kimi-k3");
  Deployment d = WithoutOffload();
  d.gpu = "h20-141";
  d.sizes.tp = 16;
  d.sizes.pp = 1;
  d.partition.reset();
  const std::vector<std::string> fixes = DescribeFixes(EnvironmentFor(model, d), d);
  ASSERT_FALSE(fixes.empty());
  EXPECT_EQ(fixes[0], "--enable-expert-parallel (on the same cards)");
}

TEST(Fixes, NothingIsOfferedThatDoesNotFit) {
  const Model& model = ExampleFromConfig("kimi-k3");
  Deployment d = WithoutOffload();
  d.gpu = "l4-24";
  d.sizes.pp = 1;
  d.nodes = 1;
  d.partition.reset();
  const Environment env = EnvironmentFor(model, d);
  for (const auto& fix :
       {SmallestOffload(env, d), LargestFittingWindow(env, d), FewestCards(env, d)}) {
    if (fix) {
      EXPECT_EQ(Evaluate(model, *fix).verdict, Verdict::kFits);
    }
  }
}

// Every launched node starts whole engines, and all of them together are what was asked for.
TEST(Fixes, LaunchStartsEveryEngine) {
  const Model& model = ExampleFromConfig("deepseek-v3");
  int checked = 0;
  for (const int64_t tp : {1, 2, 4, 8}) {
    for (int64_t pp = 1; pp <= 2; ++pp) {
      for (int64_t dp = 2; dp <= 7; ++dp) {
        Deployment d;
        d.gpu = "b300-288";
        d.sizes = {tp, pp, dp, 1, true};
        const Plan plan = Evaluate(model, d);
        if (plan.verdict == Verdict::kIllegal || tp * pp > plan.gpus_per_node) continue;
        int64_t engines = 0;
        for (const LaunchPlan& node : plan.launch) {
          const auto flag =
              std::find(node.argv.begin(), node.argv.end(), "--data-parallel-size-local");
          engines += flag == node.argv.end() ? dp : std::stoll(*(flag + 1));
        }
        EXPECT_EQ(engines, dp) << "tp " << tp << " pp " << pp;
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 20);
}

TEST(Fixes, ASmallerBudgetIsCompletedByWhatItTakesAway) {
  const Model& model = ExampleFromConfig("deepseek-v3");
  Deployment d;
  d.gpu = "h20-96";
  d.sizes.tp = 8;
  d.settings.gpu_memory_utilization = 0.99;
  const Plan plan = Evaluate(model, d);
  EXPECT_EQ(plan.verdict, Verdict::kDoesNotFit);
  const std::string fix = DescribeFix(EnvironmentFor(model, d), d, plan);
  const std::string start = "--gpu-memory-utilization 0.976 --";
  ASSERT_TRUE(fix.starts_with(start)) << fix;
  const std::string window = "--max-model-len ";
  const size_t at = fix.find(window);
  ASSERT_NE(at, std::string::npos) << fix;
  d.settings.gpu_memory_utilization = 0.976;
  d.settings.max_model_len = std::stoll(fix.substr(at + window.size()));
  EXPECT_EQ(Evaluate(model, d).verdict, Verdict::kFits);
}

TEST(Fixes, ACacheThatIsTooSmallNeedNotBeGiven) {
  const Model& model = ExampleFromConfig("deepseek-v3");
  Deployment d;
  d.gpu = "h20-141";
  d.sizes.tp = 8;
  d.settings.kv_cache_memory_bytes = Bytes(int64_t{1} << 30);
  const Plan plan = Evaluate(model, d);
  EXPECT_EQ(plan.verdict, Verdict::kDoesNotFit);
  EXPECT_TRUE(DescribeFix(EnvironmentFor(model, d), d, plan)
                  .starts_with("no --kv-cache-memory-bytes (the cache takes what is left); or --"));
}

}  // namespace
}  // namespace shardplan
