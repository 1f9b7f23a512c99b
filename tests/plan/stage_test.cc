#include "plan/stage.h"

#include <gtest/gtest.h>

#include "shardplan/base/units.h"
#include "support/plan_world.h"

namespace shardplan {
namespace {

using testing_support::EnvironmentFor;
using testing_support::ExampleFromConfig;
using testing_support::PublishedKimiK3;

class StageTest : public ::testing::Test {
 protected:
  StageEvaluation Run(const std::string& model, const Deployment& d, int64_t stage) {
    env_ = EnvironmentFor(ExampleFromConfig(model), d);
    p_ = std::make_unique<Prepared>();
    EXPECT_TRUE(Prepare(env_, d, p_.get()).has_value());
    EXPECT_TRUE(p_->legal);
    const ShardingRules rules = vllm::RulesFor(p_->context, 0);
    const DeviceWeights weights = ComputeDeviceWeights(*p_->context.arch, *p_->table, rules);
    return EvaluateStage(*p_, ExampleFromConfig(model), weights, stage, rules.local_experts);
  }
  static Bytes Outside(const StageEvaluation& e, Account account) {
    Bytes sum;
    for (const Entry& entry : e.entries) {
      if (entry.account == account && !entry.in_budget) sum += entry.bytes.central;
    }
    return sum;
  }
  Environment env_;
  std::unique_ptr<Prepared> p_;
};

TEST(Requested, CeilsAsTheEngineDoes) {
  EXPECT_EQ(RequestedBytes(Bytes(10), 0.91), Bytes(10));
  EXPECT_EQ(RequestedBytes(Bytes(150'109'880'320), 0.9), Bytes(135'098'892'288));
  EXPECT_EQ(RequestedBytes(Bytes(100), 1.0), Bytes(100));
}

TEST_F(StageTest, ResidualOfThePublishedRun) {
  const StageEvaluation e = Run("kimi-k3", PublishedKimiK3(), 0);
  const Bytes residual = e.in_budget.central - e.resident;
  EXPECT_NEAR(InGiB(residual).value(), 3.92, 0.02);
  const Bytes low = e.in_budget.low - e.resident;
  const Bytes high = e.in_budget.high - e.resident;
  EXPECT_NEAR(InGiB(low).value(), 3.40, 0.02);
  EXPECT_NEAR(InGiB(high).value(), 5.07, 0.02);
}

TEST_F(StageTest, WeightsAreWhatIsLeftAfterOffload) {
  const StageEvaluation e = Run("kimi-k3", PublishedKimiK3(), 0);
  EXPECT_EQ(e.resident,
            e.detail.parameters + e.detail.buffers + e.detail.post_load - e.offload.bytes);
  EXPECT_NEAR(InGiB(e.resident).value(), 65.546, 0.001);
}

// On the last stage alone, in the weights; its kept hidden states are workspace inside the budget.
TEST_F(StageTest, TheDrafterStandsOnTheLastStage) {
  Deployment d;
  d.gpu = "h200-141";
  d.sizes.tp = 8;
  d.sizes.pp = 2;
  d.settings.max_num_batched_tokens = 8192;
  const auto inside = [](const StageEvaluation& e) {
    Bytes sum;
    for (const Entry& entry : e.entries) {
      if (entry.account == Account::kWorkspace && entry.in_budget) sum += entry.bytes.central;
    }
    return sum;
  };
  const StageEvaluation plain[] = {Run("deepseek-v3", d, 0), Run("deepseek-v3", d, 1)};
  d.settings.speculation = Speculation{};
  d.settings.speculation->method = "mtp";
  d.settings.speculation->tokens = 1;
  EXPECT_EQ(Run("deepseek-v3", d, 0).resident, plain[0].resident);
  const StageEvaluation last = Run("deepseek-v3", d, 1);
  const vllm::DraftOnRank draft = vllm::PlaceDraft(p_->context, 0);
  EXPECT_GT(draft.Resident(), Bytes(kGiB));
  EXPECT_EQ(last.resident, plain[1].resident + draft.Resident());
  EXPECT_EQ(inside(last), inside(plain[1]) + Bytes(8192 * 7168 * 2));
  EXPECT_EQ(last.detail.parameters, plain[1].detail.parameters + draft.parameters);
}

TEST_F(StageTest, SparseAttentionHasNoChunkedPrefillWorkspace) {
  const auto names = [&](const std::string& model) {
    Deployment d;
    d.gpu = "h200-141";
    d.sizes.tp = 8;
    std::string all;
    for (const Entry& entry : Run(model, d, 0).entries) all += entry.source;
    return all;
  };
  constexpr const char* kWorkspace = "MLA chunked-prefill workspace";
  EXPECT_NE(names("deepseek-v3").find(kWorkspace), std::string::npos);
  EXPECT_EQ(names("deepseek-ai__DeepSeek-V3.2").find(kWorkspace), std::string::npos);
}

TEST_F(StageTest, WorkspaceOutsideTheBudgetGrowsWithSequences) {
  Deployment d = PublishedKimiK3();
  const Bytes one = Outside(Run("kimi-k3", d, 0), Account::kWorkspace);
  d.settings.max_num_seqs = 1024;
  const Bytes many = Outside(Run("kimi-k3", d, 0), Account::kWorkspace);
  // FlashKDA keeps two fp32 states of 12 × 128 × 128 a sequence.
  EXPECT_EQ(many - one, Bytes(1023LL * 12 * 128 * 128 * 4 * 2));
}

TEST_F(StageTest, CommunicatorsCountGroups) {
  Deployment d;
  d.gpu = "h100-80-sxm";
  d.gpus_per_node = 1;
  EXPECT_EQ(Outside(Run("dense-70b", d, 0), Account::kCommunication), Bytes());
  d.gpus_per_node = 8;
  d.sizes.tp = 8;
  const Bytes two = Outside(Run("dense-70b", d, 0), Account::kCommunication);
  d.sizes.pp = 2;
  const Bytes three = Outside(Run("dense-70b", d, 0), Account::kCommunication);
  EXPECT_EQ(two.count() * 3, three.count() * 2);
}

// A balanced rank holds its replicas in the weights, one layer's experts and the counts beside
// them.
TEST_F(StageTest, BalancingTakesReplicasAndBuffers) {
  Deployment d;
  d.gpu = "h200-141";
  d.sizes.tp = 8;
  d.sizes.expert_parallel = true;
  const auto counted = [](const StageEvaluation& e) {
    Bytes sum;
    for (const Entry& entry : e.entries) {
      if (entry.account == Account::kWorkspace && entry.in_budget) sum += entry.bytes.central;
    }
    return sum;
  };
  const StageEvaluation plain = Run("deepseek-v3", d, 0);
  d.settings.enable_eplb = true;
  d.settings.redundant_experts = 32;
  const StageEvaluation balanced = Run("deepseek-v3", d, 0);
  // 58 layers of 4 more experts: 3 × 7,168 × 2,048 in FP8, with a scale for each 128 × 128.
  const Bytes expert(3 * 7168 * 2048 + 3 * (7168 / 128) * (2048 / 128) * 4);
  EXPECT_EQ(balanced.detail.parameters - plain.detail.parameters, expert * 4 * 58);
  EXPECT_EQ(counted(balanced) - counted(plain), expert * 36 + Bytes(int64_t{1001} * 58 * 288 * 4));
}

TEST_F(StageTest, LoadingPeaksAboveWhatStays) {
  const StageEvaluation e = Run("kimi-k3", PublishedKimiK3(), 0);
  EXPECT_GT(e.load_peak.central, e.resident);
  EXPECT_LT(e.load_peak.central, e.resident + Bytes(6 * kGiB));
}

TEST(Stage, VideoTakesItsShareOfTheCache) {
  Deployment d;
  d.gpu = "h200-141";
  d.sizes.tp = 8;
  d.settings.max_model_len = 8192;
  const Model& model = testing_support::ExampleFromConfig("deepseek-v3");
  const Plan without = testing_support::Evaluate(model, d);
  d.settings.mm_ipc_gpu_memory_gb = 2;
  const Plan with = testing_support::Evaluate(model, d);
  EXPECT_EQ(without.ranks[0].kv_available.central - with.ranks[0].kv_available.central,
            Bytes(2 * kGiB));
  d.settings.kv_cache_memory_bytes = Bytes(10 * kGiB);
  EXPECT_EQ(testing_support::Evaluate(model, d).ranks[0].kv_available.central, Bytes(8 * kGiB));
}

}  // namespace
}  // namespace shardplan
