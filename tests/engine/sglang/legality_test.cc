#include "engine/sglang/legality.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/sglang_context.h"

namespace shardplan::sglang {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing_support::SglangContext;

std::vector<Finding> CheckServer(SglangContext& c) {
  return CheckArguments(c.context, ResolveDefaults(c.context));
}

std::vector<std::string> Ids(SglangContext& c) {
  std::vector<std::string> ids;
  for (const Finding& finding : CheckServer(c)) ids.push_back(finding.id);
  return ids;
}

TEST(SglangLegality, PlainArgumentsPass) {
  for (const char* example : {"kimi-k3", "deepseek-v3", "Qwen__Qwen3-32B"}) {
    SglangContext c(example);
    c.args().tp_size = 8;
    EXPECT_THAT(Ids(c), IsEmpty()) << example;
  }
}

TEST(SglangLegality, WindowsBeyondTheModels) {
  SglangContext c("deepseek-v3");
  c.args().context_length = 262'144;
  ASSERT_THAT(Ids(c), ElementsAre("window.max_positions"));
  EXPECT_THAT(CheckServer(c)[0].message,
              HasSubstr("User-specified context_length (262144) is greater than the derived "
                        "context_length (163840)."));
  c.args().longer_context = true;
  EXPECT_THAT(Ids(c), IsEmpty());
}

TEST(SglangLegality, BackendsOfOtherCards) {
  struct Backend {
    const char* name;
    int capability;
    bool refused;
  };
  const Backend rows[] = {{"trtllm_mla", 90, true}, {"trtllm_mla", 100, false}, {"fa3", 90, false},
                          {"fa3", 100, true},       {"cutlass_mla", 90, true},  {"aiter", 90, true},
                          {"flashmla", 0, true},    {"triton", 0, false},       {"wat", 90, true}};
  for (const Backend& row : rows) {
    SglangContext c("deepseek-v3");
    c.Card(143771, row.capability);
    c.args().decode_attention_backend = row.name;
    EXPECT_EQ(!Ids(c).empty(), row.refused) << row.name << " " << row.capability;
  }
}

TEST(SglangLegality, DecodeContextParallelism) {
  SglangContext c("kimi-k3");
  c.Card(275040, 103);
  c.args().tp_size = c.args().dcp_size = 8;
  EXPECT_THAT(Ids(c), IsEmpty());
  c.args().decode_attention_backend = "flashmla";
  EXPECT_THAT(Ids(c), ElementsAre("layout.dcp"));
  c.args().decode_attention_backend = "cutedsl_mla";
  EXPECT_THAT(Ids(c), IsEmpty());
  c.args().dcp_size = 3;
  EXPECT_THAT(Ids(c), ElementsAre("layout.dcp"));
  SglangContext hopper("kimi-k3");
  hopper.args().tp_size = hopper.args().dcp_size = 8;
  EXPECT_THAT(Ids(hopper), ElementsAre("layout.dcp"));
}

TEST(SglangLegality, Contradictions) {
  SglangContext c("deepseek-v3");
  c.args().enable_hierarchical_cache = true;
  EXPECT_THAT(Ids(c), IsEmpty());
  c.args().disable_radix_cache = true;
  EXPECT_THAT(Ids(c), ElementsAre("engine.contradiction"));
  c.args().disable_radix_cache = false;
  c.args().disaggregation_mode = Disaggregation::kDecode;
  EXPECT_THAT(Ids(c), ElementsAre("engine.contradiction"));
  SglangContext offload("deepseek-v3");
  offload.args().offload_group_size = 4;
  offload.args().offload_num_in_group = 5;
  EXPECT_THAT(Ids(offload), ElementsAre("engine.contradiction"));
  SglangContext ring("kimi-k3");
  ring.args().speculative_algorithm = "DSPARK";
  ring.args().speculative_num_draft_tokens = 8;
  ring.args().enable_linear_replayssm_spec = true;
  EXPECT_THAT(Ids(ring), IsEmpty());
  for (const int64_t length : {17, 8}) {
    ring.args().linear_replayssm_cache_len = length;
    EXPECT_THAT(Ids(ring), ElementsAre("engine.contradiction")) << length;
  }
}

TEST(SglangLegality, DraftsAreWholeOrNotThere) {
  SglangContext c("deepseek-v3");
  c.args().speculative_algorithm = "EAGLE";
  c.args().speculative_draft_model_path = "draft";
  c.args().speculative_num_draft_tokens = 4;
  EXPECT_THAT(Ids(c), IsEmpty());  // chosen, not given
  c.args().draft_tokens_given = true;
  EXPECT_THAT(Ids(c), ElementsAre("speculative.incomplete"));
  c.args().speculative_num_steps = 3;
  c.args().speculative_eagle_topk = 1;
  EXPECT_THAT(Ids(c), IsEmpty());
  c.args().speculative_num_draft_tokens = 99;
  EXPECT_THAT(Ids(c), ElementsAre("speculative.draft_tokens"));
  SglangContext none("deepseek-v3");
  none.args().draft_weights = Bytes(1);
  EXPECT_THAT(Ids(none), ElementsAre("speculative.none"));
}

TEST(SglangLegality, BalancedExperts) {
  SglangContext c("deepseek-v3");
  c.args().tp_size = 8;
  c.args().enable_eplb = true;
  EXPECT_THAT(Ids(c), ElementsAre("engine.contradiction"));
  c.args().ep_size = 8;
  c.args().redundant_experts = 32;
  EXPECT_THAT(Ids(c), IsEmpty());
  c.args().redundant_experts = 3;
  EXPECT_THAT(Ids(c), ElementsAre("layout.redundant_experts"));
}

TEST(SglangLegality, NamesThatTheParserTakes) {
  EXPECT_THAT(AttentionBackends(), ::testing::Contains("cutedsl_mla"));
  EXPECT_THAT(AllToAllBackends(), ::testing::Contains("megamoe"));
  EXPECT_THAT(MoeRunners(), ::testing::Contains("marlin"));
}

TEST(SglangLegality, DraftsWithoutAPath) {
  SglangContext c("deepseek-v3");
  c.args().tp_size = 8;
  c.args().speculative_algorithm = "EAGLE";
  ASSERT_THAT(Ids(c), ElementsAre("speculative.draft_from_model"));
  EXPECT_EQ(CheckServer(c)[0].severity, Severity::kNote);
  c.args().speculative_algorithm = "STANDALONE";
  EXPECT_EQ(CheckServer(c)[0].severity, Severity::kWarning);
  c.args().speculative_draft_model_path = "draft";
  EXPECT_THAT(Ids(c), IsEmpty());
  c.args().speculative_draft_model_path.clear();
  c.args().draft_weights = Bytes(1);
  EXPECT_THAT(Ids(c), IsEmpty());
  SglangContext dense("Qwen__Qwen3-32B");
  dense.args().speculative_algorithm = "EAGLE";
  ASSERT_THAT(Ids(dense), ElementsAre("speculative.draft_from_model"));
  EXPECT_THAT(CheckServer(dense)[0].message, HasSubstr("the whole model a second time"));
}

}  // namespace
}  // namespace shardplan::sglang
