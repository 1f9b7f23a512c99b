#include "shardplan/plan/layout_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "shardplan/base/units.h"
#include "shardplan/model/precision.h"
#include "shardplan/report/search.h"
#include "support/cluster_world.h"

namespace shardplan {
namespace {

using ::testing::HasSubstr;
using testing_support::Cards;
using testing_support::ExampleFromConfig;
using testing_support::Store;

SearchRequest Asking(const std::string& gpu, int64_t nodes) {
  SearchRequest request;
  request.nodes = nodes;
  request.objectives = {Objective::kMinOffload, Objective::kMaxConcurrency, Objective::kMinGpus};
  request.variants.emplace_back();
  request.variants[0].base.gpu = gpu;
  return request;
}

SearchResult Search(const std::string& model, const SearchRequest& request) {
  Result<SearchResult> result = SearchLayouts(ExampleFromConfig(model), Cards(), Store(), request);
  EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().ToString());
  return result ? std::move(*result) : SearchResult();
}

int64_t CountOf(const SearchResult& result) {
  int64_t rejected = 0;
  for (const Rejection& rejection : result.rejected) rejected += rejection.count;
  return result.feasible + rejected;
}

// The deployment that was published: two nodes of eight, 512K, and two such requests.
SearchRequest PublishedQuestion(const std::string& gpu, int64_t nodes) {
  SearchRequest request = Asking(gpu, nodes);
  request.variants[0].base.settings.max_model_len = 524'288;
  request.variants[0].base.require_concurrency = 2;
  return request;
}

TEST(LayoutSearch, FindsThePublishedDeployment) {
  SearchRequest request = PublishedQuestion("h20-96", 2);
  request.limit = 10;
  const SearchResult result = Search("kimi-k3", request);
  EXPECT_EQ(CountOf(result), result.layouts);
  const auto published =
      std::find_if(result.candidates.begin(), result.candidates.end(),
                   [](const Candidate& c) { return c.plan.sizes.tp == 8 && c.plan.sizes.pp == 2; });
  ASSERT_NE(published, result.candidates.end());
  EXPECT_EQ(published->plan.verdict, Verdict::kFits);
  EXPECT_GE(published->score.concurrency, 2);
  EXPECT_GT(published->score.offload, Bytes());  // nothing fits without
  EXPECT_EQ(published->score.gpus, 16);
}

TEST(LayoutSearch, RejectsWithTheAccountThatIsShort) {
  for (const auto& [gpu, nodes] : {std::pair("h20-96", 2), std::pair("h20-141", 1)}) {
    SearchRequest request = PublishedQuestion(gpu, nodes);
    request.variants[0].given.offload = true;
    const SearchResult result = Search("kimi-k3", request);
    EXPECT_EQ(result.feasible, 0) << gpu;
    EXPECT_TRUE(result.candidates.empty());
    EXPECT_EQ(CountOf(result), result.layouts);
    const auto weights =
        std::find_if(result.rejected.begin(), result.rejected.end(),
                     [](const Rejection& r) { return r.reason_id == "short.weights"; });
    ASSERT_NE(weights, result.rejected.end()) << gpu;
    EXPECT_THAT(weights->example, HasSubstr("the nearest miss"));
  }
}

// Of two stages, no other partition holds more.
TEST(LayoutSearch, PartitionAgainstAllOfThem) {
  SearchRequest request = Asking("h100-80-sxm", 1);
  SearchVariant& variant = request.variants[0];
  variant.base.sizes.tp = 2;
  variant.base.sizes.pp = 2;
  variant.base.settings.max_model_len = 8192;
  variant.given.tp = variant.given.pp = variant.given.dp = true;
  const SearchResult result = Search("dense-70b", request);
  ASSERT_EQ(result.candidates.size(), 1u);
  const int64_t layers = ExampleFromConfig("dense-70b").arch.layers();
  double best = 0;
  for (int64_t first = 1; first < layers; ++first) {
    Deployment d = result.candidates[0].deployment;
    d.partition = std::vector<int64_t>{first, layers - first};
    const Plan plan = testing_support::Evaluate(ExampleFromConfig("dense-70b"), d);
    if (plan.verdict == Verdict::kFits) best = std::max(best, plan.kv->max_concurrency);
  }
  EXPECT_DOUBLE_EQ(result.candidates[0].score.concurrency, best);
}

TEST(LayoutSearch, ProposalsAreOfOneShapeEachAndTheSameEveryTime) {
  SearchRequest request = Asking("h200-141", 1);
  request.limit = 5;
  request.variants[0].base.settings.max_model_len = 16'384;
  request.variants.push_back(request.variants[0]);
  request.variants[1].settings = {{"engine", "sglang"}};
  request.variants[1].base.engine = "sglang";
  request.variants[1].base.sglang.context_length = 16'384;
  const SearchResult result = Search("deepseek-v3", request);
  ASSERT_EQ(result.candidates.size(), 5u);
  EXPECT_GT(result.candidates[0].alike, 0);
  for (size_t i = 0; i < result.candidates.size(); ++i) {
    const Candidate& c = result.candidates[i];
    EXPECT_EQ(c.plan.verdict, Verdict::kFits);
    EXPECT_LE(c.score.concurrency, result.candidates[0].score.concurrency);
    for (size_t j = 0; j < i; ++j) {
      const Candidate& other = result.candidates[j];
      EXPECT_FALSE(c.plan.engine == other.plan.engine && c.plan.sizes.tp == other.plan.sizes.tp &&
                   c.plan.sizes.pp == other.plan.sizes.pp &&
                   c.plan.sizes.dp == other.plan.sizes.dp &&
                   c.plan.sizes.dp_in_tp == other.plan.sizes.dp_in_tp);
    }
  }
  request.threads = 3;
  EXPECT_EQ(RenderSearchJson(result), RenderSearchJson(Search("deepseek-v3", request)));
}

TEST(LayoutSearch, TheFirstObjectiveDecides) {
  SearchRequest request = Asking("h100-80-sxm", 1);
  request.variants[0].base.settings.max_model_len = 8192;
  const SearchResult most = Search("dense-70b", request);
  request.objectives = {Objective::kMinGpus};
  const SearchResult fewest = Search("dense-70b", request);
  ASSERT_FALSE(most.candidates.empty() || fewest.candidates.empty());
  EXPECT_EQ(most.candidates[0].score.gpus, 8);
  EXPECT_LT(fewest.candidates[0].score.gpus, 8);
  EXPECT_TRUE(most.candidates[0].pareto);
}

TEST(LayoutSearch, WhatIsWrongForAllIsAnError) {
  SearchRequest request = Asking("h100-80-sxm", 1);
  request.variants[0].base.settings.max_model_len = 1000;
  request.variants[0].base.output_tokens = 2000;
  const auto result = SearchLayouts(ExampleFromConfig("dense-70b"), Cards(), Store(), request);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kUsage);
}

// Nobody asked for offload: one card with half a terabyte in host memory is no answer while eight
// cards hold everything.
TEST(LayoutSearch, OffloadUnaskedRanksBelow) {
  SearchRequest request = Asking("h200-141", 1);
  request.variants[0].base.settings.max_model_len = 8192;
  request.objectives = {Objective::kMinGpus};
  request.limit = 100;
  const SearchResult result = Search("deepseek-v3", request);
  ASSERT_GT(result.candidates.size(), 1u);
  EXPECT_EQ(result.candidates.front().score.offload, Bytes());
  EXPECT_GT(result.candidates.back().score.offload, Bytes());
}

TEST(LayoutSearch, NoMoreRequestsThanTheSchedulerRuns) {
  SearchRequest request = Asking("h100-80-sxm", 1);
  request.variants[0].base.settings.max_model_len = 8192;
  request.variants[0].base.settings.max_num_seqs = 3;
  const SearchResult result = Search("dense-70b", request);
  ASSERT_FALSE(result.candidates.empty());
  const Candidate& best = result.candidates[0];
  EXPECT_DOUBLE_EQ(best.score.concurrency, 3.0 * static_cast<double>(best.plan.sizes.dp));
}

// Four nodes of eight, experts at INT4: TP8 inside each node with experts across all of them fits
// without offload, because shared experts are sliced; the search says so beside the pipelines, and
// what limits it.
TEST(LayoutSearch, TellsExpertsAcrossNodesBesidePipelines) {
  Model model = ExampleFromConfig("kimi-k3");
  PrecisionPolicy int4;
  ASSERT_TRUE(ParsePrecision("experts=int4:32", &int4).has_value());
  ApplyPrecision(int4, &model);
  SearchRequest request = Asking("h20-96", 4);
  request.variants[0].base.settings.max_model_len = 131'072;
  request.variants[0].base.settings.language_model_only = true;
  request.threads = 2;
  const Result<SearchResult> result = SearchLayouts(model, Cards(), Store(), request);
  ASSERT_TRUE(result) << result.error().ToString();
  const auto staged =
      std::count_if(result->candidates.begin(), result->candidates.end(),
                    [](const Candidate& c) { return c.plan.sizes.pp > 1 && c.plan.sizes.tp <= 8; });
  EXPECT_GT(staged, 0);
  const auto experts =
      std::find_if(result->instead.begin(), result->instead.end(),
                   [](const Alternative& a) { return a.kind == LayoutKind::kExperts; });
  ASSERT_NE(experts, result->instead.end());
  ASSERT_TRUE(experts->candidate);
  const Candidate& c = *experts->candidate;
  EXPECT_EQ(c.plan.verdict, Verdict::kFits);
  EXPECT_EQ(c.plan.sizes.tp, 8);
  EXPECT_EQ(c.plan.sizes.dp, 4);
  EXPECT_TRUE(c.plan.sizes.expert_parallel);
  EXPECT_EQ(c.score.offload, Bytes());
  ASSERT_FALSE(c.chosen.empty());
  EXPECT_EQ(c.chosen[0], OptionValue("env", "VLLM_KIMI_K3_SHARD_SP_SHARED_EXPERT=1"));
  // By hand: 92 layers of 28 experts, three matrices of 3,584 × 3,072 at 4 bits with a scale of 16
  // for each 32; an eighth of the shared experts and of the dense layer, 6,144 and 33,792 wide.
  const double routed = 92.0 * 28 * 3 * 3584 * 3072 * (4 + 0.5) / 8;
  const double shared = 3.0 * 7168 * 2 * (92.0 * 6144 + 33'792);
  const double rest = static_cast<double>(c.plan.ranks[0].weights.count()) - routed - shared / 8;
  // Attention, latent projections, router, embedding and head: what the variable leaves alone.
  Deployment whole = c.deployment;
  whole.settings.env.clear();
  FigureEvaluator evaluator(model, Cards(), Store());
  const Result<Plan> replicated = evaluator.Evaluate(whole);
  ASSERT_TRUE(replicated);
  EXPECT_EQ(replicated->verdict, Verdict::kDoesNotFit);
  EXPECT_NEAR(static_cast<double>(replicated->ranks[0].weights.count()), routed + shared + rest,
              1.0);
  EXPECT_GT(rest, 15e9);
  EXPECT_LT(rest, 25e9);
  for (const Alternative& other : result->instead) {
    for (const Candidate& told : result->candidates) {
      EXPECT_NE(other.kind, KindOf(told.deployment)) << ToString(other.kind);
    }
    EXPECT_EQ(other.candidate.has_value(), other.miss.empty());
  }
}

TEST(LayoutSearch, Kinds) {
  Deployment d;
  const auto with = [&](ParallelSizes sizes) {
    d.sizes = sizes;
    return KindOf(d);
  };
  EXPECT_EQ(with({}), LayoutKind::kTensor);
  EXPECT_EQ(with({.tp = 8, .expert_parallel = true}), LayoutKind::kTensor);
  EXPECT_EQ(with({.tp = 8, .pp = 2}), LayoutKind::kStages);
  EXPECT_EQ(with({.tp = 8, .dp = 2, .expert_parallel = true}), LayoutKind::kExperts);
  EXPECT_EQ(with({.tp = 8, .pp = 2, .dp = 2, .expert_parallel = true}),
            LayoutKind::kStagesOfExperts);
  EXPECT_EQ(with({.tp = 8, .dp = 2}), LayoutKind::kReplicas);
  d.engine = "sglang";
  d.sglang.enable_dp_attention = true;
  EXPECT_EQ(with({.tp = 8, .dp = 8}), LayoutKind::kTensor);
  d.sglang.ep_size = 8;
  EXPECT_EQ(with({.tp = 8, .dp = 8}), LayoutKind::kExperts);
  EXPECT_EQ(ToString(LayoutKind::kStages), "pipeline stages");
}

// Of a node whose last cards are smaller, layouts of the first ones have the larger card.
TEST(LayoutSearch, CardsWithoutRanksDecideNothing) {
  NodeKind mixed = testing_support::Server("h200-141", 8);
  for (size_t i = 4; i < 8; ++i) mixed.cards[i].gpu = "h100-80-sxm";
  SearchRequest request = Asking("", 1);
  request.limit = 100;
  request.variants[0].base.cluster = testing_support::Cluster({mixed});
  request.variants[0].base.settings.max_model_len = 8192;
  const SearchResult result = Search("dense-70b", request);
  ASSERT_FALSE(result.candidates.empty());
  for (const Candidate& c : result.candidates) {
    EXPECT_EQ(c.plan.gpu, c.score.gpus > 4 ? "h100-80-sxm" : "h200-141");
  }
}

TEST(LayoutSearch, WhatRunsTodayIsTold) {
  SearchRequest request = Asking("h100-80-sxm", 1);
  request.variants[0].base.settings.max_model_len = 8192;
  EXPECT_FALSE(Search("dense-70b", request).today);
  request.today = request.variants[0].base;
  request.today->sizes.tp = 8;
  const SearchResult result = Search("dense-70b", request);
  ASSERT_TRUE(result.today);
  EXPECT_EQ(result.today->plan.sizes.tp, 8);
  EXPECT_EQ(result.today->score.gpus, 8);
  // A command that no engine takes is no reason to find nothing.
  request.today->output_tokens = 1'000'000;
  EXPECT_FALSE(Search("dense-70b", request).today);
}

TEST(LayoutSearch, Scores) {
  const Score base{2.0, 1000, 16, Bytes(5)};
  Score better = base;
  better.gpus = 8;
  EXPECT_TRUE(better.Dominates(base));
  EXPECT_FALSE(base.Dominates(better));
  EXPECT_FALSE(base.Dominates(base));
  better.offload = Bytes(6);  // no whole GiB
  EXPECT_TRUE(better.Dominates(base));
  better.offload = Bytes(2 * kGiB);
  EXPECT_FALSE(better.Dominates(base));
  for (const Objective objective : AllObjectives()) {
    EXPECT_EQ(ObjectiveOf(ToString(objective)), objective);
  }
  EXPECT_FALSE(ObjectiveOf("max-speed"));
}

// An FP8 cache would hold more, and the newest version that anybody saw it in did not start on
// Hopper: whoever asks for both gets the one that starts first.
TEST(LayoutSearch, WhatAnEarlierVersionRefusedRanksBelow) {
  SearchRequest request = PublishedQuestion("h20-141", 2);
  request.limit = 100;
  request.variants.push_back(request.variants[0]);
  request.variants[0].settings = {{"kv-cache-dtype", "fp8"}};
  request.variants[0].base.settings.kv_cache_dtype = "fp8";
  request.variants[1].settings = {{"kv-cache-dtype", "auto"}};
  for (SearchVariant& variant : request.variants) {
    variant.given = {.tp = true, .pp = true, .dp = true, .dcp = true, .cache_dtype = true};
    variant.base.sizes = {.tp = 8, .pp = 2};
  }
  const SearchResult result = Search("kimi-k3", request);
  ASSERT_EQ(result.candidates.size(), 1u);
  EXPECT_EQ(result.candidates[0].settings, request.variants[1].settings);
  EXPECT_GE(result.candidates[0].alike, 1);
  // Alone, it is a candidate.
  request.variants.pop_back();
  const SearchResult alone = Search("kimi-k3", request);
  ASSERT_EQ(alone.candidates.size(), 1u);
  EXPECT_GT(alone.candidates[0].score.concurrency, result.candidates[0].score.concurrency);
}

TEST(LayoutSearch, LeastOverTheNetworkThenTheMostRequests) {
  SearchRequest request = Asking("h20-141", 2);
  request.variants[0].base.settings.max_model_len = 32'768;
  request.objectives = {Objective::kMinInternodeTraffic};
  request.limit = 1000;
  const SearchResult result = Search("deepseek-v3", request);
  ASSERT_GT(result.candidates.size(), 3u);
  double last = -1, requests = 0;
  for (const Candidate& c : result.candidates) {
    ASSERT_TRUE(c.score.network_per_token && c.plan.traffic);
    if (c.score.offload > Bytes()) continue;  // after all that need none
    const double now = std::round(*c.score.network_per_token);
    EXPECT_EQ(now, std::round(c.plan.traffic->decode.NetworkPerToken()));
    EXPECT_GE(now, last);
    if (now == last) {
      EXPECT_LE(c.score.concurrency, requests);
    }
    last = now;
    requests = c.score.concurrency;
  }
  EXPECT_EQ(*result.candidates[0].score.network_per_token, 0);  // inside one node
  EXPECT_GT(last, 0);                                           // and over two
}

TEST(LayoutSearch, OtherObjectivesDoNotComputeTraffic) {
  SearchRequest request = Asking("h20-141", 1);
  request.variants[0].base.settings.max_model_len = 32'768;
  const SearchResult result = Search("deepseek-v3", request);
  ASSERT_FALSE(result.candidates.empty());
  EXPECT_FALSE(result.candidates[0].score.network_per_token.has_value());
  EXPECT_TRUE(result.candidates[0].plan.traffic.has_value());
  EXPECT_EQ(ObjectiveOf("min-internode-traffic"), Objective::kMinInternodeTraffic);
}

}  // namespace
}  // namespace shardplan
