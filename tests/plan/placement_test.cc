#include <gtest/gtest.h>

#include <algorithm>

#include "plan/assemble.h"
#include "support/plan_world.h"
#include "support/temp_dir.h"
#include "support/tiny_checkpoint.h"
#include "support/tiny_models.h"

namespace shardplan {
namespace {

using testing_support::Evaluate;
using testing_support::TempDir;
using testing_support::TinyDense;
using testing_support::TinyKimiK3;
using testing_support::WriteTiny;

Deployment Small(int64_t tp, int64_t pp) {
  Deployment d;
  d.gpu = "h20-96";
  d.sizes.tp = tp;
  d.sizes.pp = pp;
  d.gpus_per_node = tp;
  d.settings.max_num_seqs = 1;
  d.settings.max_num_batched_tokens = 64;
  return d;
}

TEST(CheckVisibleCards, ANodeShowsACardForEachRank) {
  Deployment d;
  d.settings.env = {{"CUDA_VISIBLE_DEVICES", "4,5"}};
  std::vector<Finding> findings;
  CheckVisibleCards(d, 2, &findings);
  EXPECT_TRUE(findings.empty());
  CheckVisibleCards(d, 4, &findings);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].id, "layout.hidden_gpus");
  EXPECT_EQ(findings[0].severity, Severity::kError);
  EXPECT_EQ(findings[0].subject, "CUDA_VISIBLE_DEVICES=4,5");
  EXPECT_EQ(findings[0].message, "shows 2 of a node's cards, and the layout has 4 ranks on it");
  EXPECT_EQ(findings[0].fix, "leave it out, show 4 cards, or take a smaller layout");
  // CUDA sees those in front of the first that is none.
  for (const auto& [value, shown] : {std::pair("4,-1,5,6", "shows 1 of "), {"", "shows 0 of "}}) {
    findings.clear();
    d.settings.env = {{"CUDA_VISIBLE_DEVICES", value}};
    CheckVisibleCards(d, 4, &findings);
    ASSERT_EQ(findings.size(), 1U) << value;
    EXPECT_EQ(findings[0].message.find(shown), 0U) << value;
  }
}

// Both engines ask.
TEST(CheckVisibleCards, ALayoutOfHiddenCardsIsIllegal) {
  for (const char* engine : {"vllm", "sglang"}) {
    Deployment d;
    d.engine = engine;
    d.gpu = "h20-96";
    d.sizes.tp = 4;
    d.settings.env = {{"CUDA_VISIBLE_DEVICES", "0,1"}};
    const Plan plan = Evaluate(testing_support::ExampleFromConfig("dense-70b"), d);
    EXPECT_EQ(plan.verdict, Verdict::kIllegal) << engine;
  }
}

// Shards 1 to 6 are layers, 7 embedding and head, 8 projector, 9 tower.
class FilesTest : public ::testing::Test {
 protected:
  FilesTest() {
    WriteTiny(TinyKimiK3(), dir_.Path("m"));
    Result<Model> model = LoadModel(dir_.Path("m"));
    EXPECT_TRUE(model.has_value()) << (model ? "" : model.error().ToString());
    model_ = std::move(*model);
  }
  static std::vector<int> Numbers(const std::vector<std::string>& names) {
    std::vector<int> numbers;
    for (const std::string& name : names) numbers.push_back(std::stoi(name.substr(6, 5)));
    return numbers;
  }
  TempDir dir_;
  Model model_;
};

TEST_F(FilesTest, EachNodeNeedsItsStagesShards) {
  Deployment d = Small(2, 2);
  d.partition = std::vector<int64_t>{4, 2};
  d.settings.language_model_only = true;
  const Plan text = Evaluate(model_, d);
  ASSERT_EQ(text.files.size(), 2u);
  EXPECT_EQ(Numbers(text.files[0].needed_shards), (std::vector<int>{1, 2, 3, 4, 7}));
  EXPECT_EQ(Numbers(text.files[0].shards), (std::vector<int>{1, 2, 3, 4, 7, 8, 9}));
  EXPECT_EQ(Numbers(text.files[1].needed_shards), (std::vector<int>{5, 6, 7}));
  EXPECT_EQ(Numbers(text.files[1].shards), (std::vector<int>{5, 6, 7, 8, 9}));
  Bytes bytes;
  for (const ShardInfo& shard : model_.inventory.shards) {
    if (std::count(text.files[1].shards.begin(), text.files[1].shards.end(), shard.name) > 0) {
      bytes += shard.file_bytes;
    }
  }
  EXPECT_EQ(text.files[1].bytes, bytes);
  d.settings.language_model_only = false;  // the tower is built on every stage
  EXPECT_EQ(Numbers(Evaluate(model_, d).files[1].needed_shards), (std::vector<int>{5, 6, 7, 8, 9}));
}

TEST_F(FilesTest, MiddleStagesNeedNoHeadOrEmbedding) {
  Deployment d = Small(1, 3);
  d.settings.language_model_only = true;
  const Plan plan = Evaluate(model_, d);
  ASSERT_EQ(plan.files.size(), 3u);
  EXPECT_EQ(Numbers(plan.files[1].needed_shards), (std::vector<int>{3, 4}));
}

TEST_F(FilesTest, OneNodeWithAllStagesNeedsEverything) {
  Deployment d = Small(2, 2);
  d.gpus_per_node = 8;
  const Plan plan = Evaluate(model_, d);
  ASSERT_EQ(plan.files.size(), 1u);
  EXPECT_EQ(plan.files[0].needed_shards.size(), 9u);
  EXPECT_EQ(plan.files[0].bytes, model_.inventory.file_bytes);
}

TEST_F(FilesTest, EvenShareCountsFiles) {
  const Plan plan = Evaluate(model_, Small(2, 2));
  EXPECT_TRUE(plan.even_share.from_files);
  EXPECT_EQ(plan.even_share.file_bytes, model_.inventory.file_bytes);
  EXPECT_EQ(plan.even_share.cards, 4);
  EXPECT_EQ(plan.even_share.margin, plan.even_share.card - plan.even_share.share);
}

TEST(Files, TiedEmbeddingsAreNeededOnBothEnds) {
  TempDir dir;
  nlohmann::json config = TinyDense();
  config["tie_word_embeddings"] = true;
  WriteTiny(config, dir.Path("m"));
  const auto model = LoadModel(dir.Path("m"));
  ASSERT_TRUE(model.has_value());
  const Plan plan = Evaluate(*model, Small(1, 2));
  EXPECT_EQ(plan.files[1].needed_shards.size(), 1u);
}

// The drafter's shards are needed where it is loaded: on the last stage.
TEST(Files, MtpLayersAreNeededOnTheLastStage) {
  TempDir dir;
  WriteTiny(testing_support::TinyGlm4Moe(), dir.Path("m"));
  const auto model = LoadModel(dir.Path("m"));
  ASSERT_TRUE(model.has_value());
  Deployment d = Small(1, 2);
  const auto needed = [&](size_t node) {
    return Evaluate(*model, d).files[node].needed_shards.size();
  };
  const size_t first = needed(0);
  const size_t last = needed(1);
  d.settings.speculation = Speculation{};
  d.settings.speculation->method = "mtp";
  d.settings.speculation->tokens = 1;
  EXPECT_EQ(needed(0), first);
  bool own_shard = false;
  for (const ShardUse& use : model->shard_use) {
    own_shard |= use.draft && use.layers.empty() && !use.first_stage && !use.last_stage;
  }
  EXPECT_EQ(needed(1), last + (own_shard ? 1 : 0));
}

TEST(Files, NothingWithoutHeaders) {
  const Plan plan =
      Evaluate(testing_support::ExampleFromConfig("kimi-k3"), testing_support::PublishedKimiK3());
  EXPECT_TRUE(plan.files.empty());
  EXPECT_FALSE(plan.even_share.from_files);
  EXPECT_FALSE(plan.file_bytes.has_value());
}

TEST(Launch, OneCommandPerNodeWithTheDirectory) {
  const Plan plan =
      Evaluate(testing_support::ExampleFromConfig("kimi-k3"), testing_support::PublishedKimiK3());
  ASSERT_EQ(plan.launch.size(), 2u);
  EXPECT_EQ(plan.launch[0].node, 0);
  EXPECT_EQ(plan.launch[0].argv[2], std::string(SHARDPLAN_EXAMPLES) + "/kimi-k3");
  EXPECT_EQ(plan.launch[0].env[0],
            (std::pair<std::string, std::string>("VLLM_PP_LAYER_PARTITION", "48,45")));
}

TEST(Host, OneNumaNodePerSocket) {
  Deployment d = testing_support::PublishedKimiK3();
  d.nodes.reset();
  const Plan plan = Evaluate(testing_support::ExampleFromConfig("kimi-k3"), d);
  for (const RankPlan& rank : plan.ranks) EXPECT_EQ(rank.numa_node, rank.place.gpu / 4);
  for (const HostPlan& host : plan.host) {
    Bytes sum, allocated;
    for (const NumaBytes& numa : host.per_numa) {
      sum += numa.bytes;
      allocated += numa.allocated;
    }
    EXPECT_EQ(sum, host.pinned);
    EXPECT_EQ(allocated, host.pinned_allocated);
  }
}

}  // namespace
}  // namespace shardplan
