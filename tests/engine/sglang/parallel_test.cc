#include "engine/sglang/parallel.h"

#include <gtest/gtest.h>

#include "support/sglang_context.h"

namespace shardplan::sglang {
namespace {

using testing_support::SglangContext;

TEST(SglangParallel, AttentionAndExperts) {
  ServerArgs a;
  a.tp_size = 16;
  EXPECT_EQ(AttentionTp(a), 16);
  EXPECT_EQ(MoeTp(a), 16);
  a.ep_size = 4;
  EXPECT_EQ(ExpertParallel(a), 4);
  EXPECT_EQ(MoeTp(a), 4);
  a.dp_size = 4;  // replicas: not inside TP
  EXPECT_EQ(AttentionTp(a), 16);
  EXPECT_EQ(AttentionDp(a), 1);
  a.enable_dp_attention = true;
  EXPECT_EQ(AttentionTp(a), 4);
  EXPECT_EQ(AttentionDp(a), 4);
  for (const char* backend :
       {"deepep", "mooncake", "nixl", "mori", "pplx", "flashinfer", "megamoe", "ascend_fuseep"}) {
    a.moe_a2a_backend = backend;
    EXPECT_EQ(ExpertParallel(a), 16) << backend;
    EXPECT_EQ(MoeTp(a), 1) << backend;
  }
  EXPECT_FALSE(SpansAllRanks("none"));
}

std::vector<int64_t> Counts(int64_t pp, int64_t layers) {
  ServerArgs a;
  a.pp_size = pp;
  std::vector<int64_t> counts;
  for (const StageRange& stage : Stages(a, layers)) counts.push_back(stage.count);
  return counts;
}

TEST(SglangParallel, TheRemainderIsOnTheLastStages) {
  EXPECT_EQ(Counts(2, 93), (std::vector<int64_t>{46, 47}));
  EXPECT_EQ(Counts(4, 61), (std::vector<int64_t>{15, 15, 15, 16}));
  EXPECT_EQ(Counts(8, 93), (std::vector<int64_t>{11, 11, 11, 12, 12, 12, 12, 12}));
  EXPECT_EQ(Counts(1, 61), (std::vector<int64_t>{61}));
  ServerArgs a;
  a.pp_size = 2;
  a.pp_partition = {{50, 43}};
  EXPECT_EQ(Stages(a, 93)[1], (StageRange{50, 43}));
}

TEST(SglangParallel, StagesAreOutermost) {
  ServerArgs a;
  a.tp_size = 8;
  a.pp_size = 2;
  a.nnodes = 2;
  EXPECT_EQ(RanksOfNode(a, 1).first_stage, 1);
  EXPECT_EQ(RanksOfNode(a, 1).first_tp_rank, 0);
  EXPECT_EQ(RanksOfNode(a, 1).tp_ranks, 8);
  a.nnodes = 4;  // two nodes a stage
  EXPECT_EQ(RanksOfNode(a, 3).first_stage, 1);
  EXPECT_EQ(RanksOfNode(a, 3).first_tp_rank, 4);
  EXPECT_EQ(RanksOfNode(a, 3).tp_ranks, 4);
  a.nnodes = 1;
  EXPECT_EQ(RanksOfNode(a, 0).stages, 2);
  a.pp_size = 1;
  a.tp_size = 16;
  a.nnodes = 2;
  EXPECT_EQ(RanksOfNode(a, 1).first_tp_rank, 8);
}

// "id: message" of the first finding.
std::string First(SglangContext& c) {
  const std::vector<Finding> findings = CheckLayout(c.context);
  return findings.empty() ? "legal" : findings[0].id + ": " + findings[0].message;
}

TEST(SglangParallel, LegalLayouts) {
  for (const int64_t tp : {1, 2, 4, 8, 16, 32}) {
    SglangContext c("kimi-k3");
    c.args().tp_size = tp;
    EXPECT_EQ(First(c), "legal") << tp;
    c.args().ep_size = tp;
    EXPECT_EQ(First(c), "legal") << tp;
  }
}

TEST(SglangParallel, RefusesInSglangsWords) {
  const auto with = [](const char* model, auto change) {
    SglangContext c(model);
    change(c.args());
    return First(c);
  };
  const char* k3 = "kimi-k3";
  EXPECT_EQ(with(k3, [](ServerArgs& a) { a.tp_size = 8, a.nnodes = 3; }),
            "layout.nodes: tp_size must be divisible by number of nodes");
  EXPECT_EQ(with(k3, [](ServerArgs& a) { a.pp_size = 2, a.speculative_algorithm = "DSPARK"; }),
            "layout.pipeline: Pipeline parallelism is not compatible with overlap schedule, "
            "speculative decoding");
  EXPECT_EQ(with(k3,
                 [](ServerArgs& a) {
                   a.pp_size = 2, a.mamba_radix_strategy = StateStrategy::kExtraBufferLazy;
                 }),
            "layout.state_strategy: Lazy extra buffer requires overlap schedule "
            "(--disable-overlap-schedule is incompatible)");
  EXPECT_EQ(with(k3, [](ServerArgs& a) { a.tp_size = 8, a.dp_size = 2, a.nnodes = 2; }),
            "layout.replicas: multi-node data parallel is not supported unless dp attention!");
  EXPECT_EQ(with(k3, [](ServerArgs& a) { a.tp_size = 8, a.ep_size = 3; }),
            "layout.experts: tp_size=8 is not divisible by ep_size=3");
  EXPECT_EQ(with(k3, [](ServerArgs& a) { a.tp_size = 8, a.moe_dense_tp_size = 2; }),
            "layout.moe_dense_tp: moe_dense_tp_size only support 1 and None currently");
  EXPECT_EQ(with(k3, [](ServerArgs& a) { a.tp_size = 8, a.enable_dp_lm_head = true; }),
            "layout.dp_lm_head: Please enable dp attention when setting enable_dp_lm_head. ");
  EXPECT_EQ(with(k3, [](ServerArgs& a) { a.pp_size = 2, a.pp_partition = {{93}}; }),
            "layout.partition: len(partitions)=1 does not match pp_size=2.");
  EXPECT_EQ(with(k3,
                 [](ServerArgs& a) {
                   a.pp_size = 2, a.pp_partition = {{50, 42}};
                 }),
            "layout.partition: sum(partitions)=92 does not match num_hidden_layers=93.");
  EXPECT_EQ(with(k3, [](ServerArgs& a) { a.tp_size = 9; }),
            "layout.heads: 96 attention heads are not divisible by 9");
  // 3,072 ÷ 96 would do; 64 heads of GLM's do not.
  EXPECT_EQ(with("zai-org__GLM-4.5-Air", [](ServerArgs& a) { a.tp_size = 12; }),
            "layout.kv_heads: 8 KV heads neither divide by 12 nor into it");
  EXPECT_EQ(with("Qwen__Qwen3-30B-A3B",
                 [](ServerArgs& a) {
                   a.tp_size = 8, a.attention_backend = "flashmla", a.chunked_prefill_size = 1000;
                 }),
            "engine.chunk: chunked_prefill_size must be divisible by page_size");
  EXPECT_EQ(with("Qwen__Qwen3-30B-A3B",
                 [](ServerArgs& a) { a.tp_size = 8, a.dp_size = 3, a.enable_dp_attention = true; })
                .substr(0, 20),
            "layout.dp_attention:");
}

}  // namespace
}  // namespace shardplan::sglang
