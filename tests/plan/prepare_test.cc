#include "plan/prepare.h"

#include <gtest/gtest.h>

#include "shardplan/base/units.h"
#include "support/plan_world.h"
#include "support/temp_dir.h"
#include "support/tiny_drafts.h"

namespace shardplan {
namespace {

using testing_support::Cards;
using testing_support::EnvironmentFor;
using testing_support::ExampleFromConfig;
using testing_support::PublishedKimiK3;
using testing_support::Store;

class PrepareTest : public ::testing::Test {
 protected:
  // Prepares into a fresh object; "" or the error.
  std::string Try(const Deployment& d) {
    const Model& model = ExampleFromConfig("kimi-k3");
    const auto env = MakeEnvironment(model, Cards(), Store(), d);
    if (!env) return env.error().ToString();
    env_ = *env;
    p_ = std::make_unique<Prepared>();
    const Status status = Prepare(env_, d, p_.get());
    return status ? "" : status.error().ToString();
  }
  const Finding* Find(const std::string& id) const {
    for (const Finding& finding : p_->findings) {
      if (finding.id == id) return &finding;
    }
    return nullptr;
  }
  Environment env_;
  std::unique_ptr<Prepared> p_;
};

Deployment Layout(int64_t tp, int64_t pp, std::optional<int64_t> nodes = std::nullopt) {
  Deployment d;
  d.gpu = "h20-96";
  d.sizes.tp = tp;
  d.sizes.pp = pp;
  d.nodes = nodes;
  return d;
}

TEST_F(PrepareTest, NodesAsManyAsTheWorldNeeds) {
  for (const auto& [tp, pp, nodes, each] :
       {std::tuple(8, 1, 1, 8), std::tuple(8, 2, 2, 8), std::tuple(4, 4, 2, 8),
        std::tuple(16, 1, 2, 8), std::tuple(4, 3, 2, 6), std::tuple(4, 1, 1, 4)}) {
    EXPECT_EQ(Try(Layout(tp, pp)), "");
    EXPECT_EQ(p_->placement.nodes, nodes) << tp << "x" << pp;
    EXPECT_EQ(p_->placement.ranks_per_node, each) << tp << "x" << pp;
  }
}

// Thirteen ranks are no layout of eights, and nobody means thirteen nodes with one card each.
TEST_F(PrepareTest, RanksThatDivideOverNoNodes) {
  EXPECT_EQ(Try(Layout(1, 13)), "");
  EXPECT_FALSE(p_->legal);
  EXPECT_EQ(Find("layout.world_size")->message,
            "13 ranks do not divide evenly over nodes of 8 GPUs");
  EXPECT_EQ(Try(Layout(1, 15)), "");  // three nodes of five
  EXPECT_TRUE(p_->legal);
  EXPECT_EQ(p_->placement.nodes, 3);
}

TEST_F(PrepareTest, CardsThatComeInFours) {
  Deployment d = Layout(8, 1);
  d.gpu = "gb200";
  EXPECT_EQ(Try(d), "");
  EXPECT_EQ(p_->placement.nodes, 2);
}

TEST_F(PrepareTest, MoreMemoryThanTheCardHas) {
  Deployment d = Layout(8, 2);
  d.gpu_memory_total = Bytes(200 * kGiB);
  EXPECT_EQ(Try(d),
            "--gpu-memory-total 200.000 GiB: expected at most the 95.577 GiB of this card; it is "
            "what CUDA sees of the card, below what nvidia-smi totals");
}

TEST_F(PrepareTest, MoreInUseThanCudaSees) {
  Deployment d = Layout(8, 2);
  d.gpu_memory_in_use = Bytes(96 * kGiB);
  EXPECT_EQ(
      Try(d),
      "--gpu-memory-in-use 96.000 GiB: expected at most the 95.074 GiB that CUDA sees of this "
      "card");
}

TEST_F(PrepareTest, NodesHoldWholeDataParallelEngines) {
  Deployment d = Layout(4, 1);
  d.sizes.dp = 3;
  EXPECT_EQ(Try(d), "");
  EXPECT_EQ(p_->placement.nodes, 3);  // not 6 + 6 ranks on two
  EXPECT_EQ(p_->placement.ranks_per_node, 4);
  d = Layout(2, 1, 2);
  d.sizes.dp = 5;
  EXPECT_EQ(Try(d), "");
  EXPECT_FALSE(p_->legal);
  const Finding* finding = Find("layout.world_size");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->fix,
            "every node has the same number of ranks, and whole data-parallel engines");
}

TEST_F(PrepareTest, CardsOfOtherVendorsAreTold) {
  Deployment d = Layout(8, 1);
  d.gpu = "mi300x-192";
  EXPECT_EQ(Try(d), "");
  EXPECT_NE(Find("gpu.vendor"), nullptr);
}

TEST_F(PrepareTest, WholeStagesWherePossible) {
  EXPECT_EQ(Try(Layout(4, 3, 3)), "");
  EXPECT_EQ(p_->placement.nodes, 3);
  EXPECT_EQ(p_->placement.ranks_per_node, 4);
  EXPECT_EQ(Find("layout.stage_straddles"), nullptr);
  EXPECT_EQ(Try(Layout(4, 3, 2)), "");
  ASSERT_NE(Find("layout.stage_straddles"), nullptr);
  EXPECT_EQ(Find("layout.stage_straddles")->message,
            "6 ranks a node are no whole number of stages of 4 ranks: a stage is split over two "
            "nodes");
  EXPECT_TRUE(p_->legal);
}

TEST_F(PrepareTest, TooFewCardsIsIllegal) {
  EXPECT_EQ(Try(Layout(8, 2, 1)), "");
  EXPECT_FALSE(p_->legal);
  EXPECT_EQ(Find("layout.world_size")->message, "16 ranks need 16 GPUs, 1 node(s) of 8 have 8");
  EXPECT_EQ(Find("layout.world_size")->fix, "--nodes 2 or a smaller layout");
}

TEST_F(PrepareTest, IdleHardwareIsANote) {
  EXPECT_EQ(Try(Layout(8, 2, 4)), "");
  EXPECT_EQ(Find("layout.idle_nodes")->message, "2 of 4 nodes are used");
}

TEST_F(PrepareTest, RefusesWhatNoLayoutCanBe) {
  Deployment d = Layout(0, 1);
  EXPECT_EQ(Try(d), "--tensor-parallel-size 0: expected a number from 1 to 8,192");
  d = Layout(8192, 8192);
  EXPECT_EQ(Try(d), "layout: expected at most 8,192 ranks in all");
  d = Layout(8, 1, 0);
  EXPECT_EQ(Try(d), "--nodes, --gpus-per-node: expected 1 to 8,192 nodes of 1 to 1,024 GPUs");
  d = Layout(8, 1);
  d.require_concurrency = 0;
  EXPECT_EQ(Try(d), "--require-concurrency 0: expected a number from 1 to 1,000,000");
}

TEST_F(PrepareTest, RefusesOtherBackends) {
  Deployment d = Layout(8, 1);
  d.settings.offload_backend = "prefetch";
  EXPECT_EQ(Try(d),
            "--offload-backend prefetch: expected --offload-group-size of 1 or more, found none; "
            "vLLM would say: offload_num_in_group (1) must be <= offload_group_size (0); "
            "--offload-group-size 8 keeps 1 of every 8 layers in host memory; --offload-backend "
            "uva with --cpu-offload-gb takes a size instead");
  d.settings.offload_group_size = 2;
  d.settings.offload_num_in_group = 3;
  EXPECT_EQ(Try(d),
            "--offload-num-in-group 3: expected at most --offload-group-size 2; vLLM would say: "
            "offload_num_in_group (3) must be <= offload_group_size (2); of every so many layers "
            "as the group has, no more can move");
  d.settings.offload_num_in_group = 1;
  d.settings.offload_group_size = 4;
  d.settings.offload_prefetch_step = 0;
  EXPECT_EQ(Try(d),
            "--offload-prefetch-step 0: expected 1 or more; vLLM would say: offload_prefetch_step "
            "(0) must be >= 1 when prefetch offloading is enabled (offload_group_size > 0); 1 is "
            "the default: the group that is needed next is copied ahead");
  d.settings.offload_num_in_group = 0;
  EXPECT_EQ(Try(d), "--offload-num-in-group 0: expected at least 1 layer");
  d.settings.offload_group_size = -1;
  EXPECT_EQ(Try(d), "--offload-group-size -1: expected a number from 0 to 1,000,000");
  d = Layout(8, 1);
  d.settings.offload_backend = "x";
  EXPECT_EQ(Try(d), "--offload-backend x: expected auto, uva or prefetch");
  d = Layout(8, 1);
  d.settings.load_format = "floppy";
  EXPECT_EQ(Try(d),
            "--load-format floppy: expected one of auto, dummy, fastsafetensors, hf, "
            "instanttensor, mistral, modelexpress, npcache, pt, runai_streamer, "
            "runai_streamer_sharded, safetensors, sharded_state or tensorizer");
  d = Layout(8, 1);
  d.settings.cpu_offload_gb = -1;
  EXPECT_EQ(Try(d), "--cpu-offload-gb -1: expected GiB a card, zero or more");
}

TEST_F(PrepareTest, UnknownCardsSuggest) {
  Deployment d = Layout(8, 1);
  d.gpu = "h20-97";
  EXPECT_NE(Try(d).find("h20-96"), std::string::npos);
}

TEST_F(PrepareTest, UnknownVersionsUseTheNearestAndSaySo) {
  Deployment d = PublishedKimiK3();
  d.engine_version = "0.33.0";
  EXPECT_EQ(Try(d), "");
  EXPECT_NE(Find("engine.version"), nullptr);
}

TEST_F(PrepareTest, DTypeChangesWhatIsCreated) {
  Deployment d = PublishedKimiK3();
  d.settings.dtype = "float32";
  EXPECT_EQ(Try(d), "");
  EXPECT_EQ(p_->table->rows[0].device_dtype, DType::kF32);
}

// A draft is looked at without a card, too: what is said is what a plan says.
TEST(CheckSpeculationTest, NeedsNoCard) {
  const testing_support::TempDir dir;
  testing_support::WriteText(dir.Path("config.json"), testing_support::TinyEagle3().dump());
  const Model& model = ExampleFromConfig("dense-70b");
  Deployment d;
  EXPECT_TRUE(CheckSpeculation(model, d)->empty());
  d.settings.speculation = Speculation{};
  d.settings.speculation->method = "eagle3";
  d.settings.speculation->tokens = 3;
  EXPECT_EQ(CheckSpeculation(model, d).error().message, "method eagle3 needs a model, found none");
  d.settings.speculation->model = dir.path();
  const auto findings = CheckSpeculation(model, d);
  ASSERT_TRUE(findings.has_value()) << findings.error().ToString();
  ASSERT_EQ(findings->size(), 1u);
  EXPECT_EQ(findings->front().id, "speculative.hidden_size");
  d.gpu = "h200-141";
  d.sizes.tp = 8;
  const Plan plan = testing_support::Evaluate(model, d);
  const Finding* const told = testing_support::FindFinding(plan, "speculative.hidden_size");
  ASSERT_NE(told, nullptr);
  EXPECT_EQ(told->message, findings->front().message);
  EXPECT_EQ(told->severity, Severity::kError);
  d.engine = "sglang";
  EXPECT_TRUE(CheckSpeculation(model, d)->empty());
}

}  // namespace
}  // namespace shardplan
