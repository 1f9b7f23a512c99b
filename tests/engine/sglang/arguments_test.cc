#include "engine/sglang/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/flag_table.h"
#include "support/sglang_context.h"

namespace shardplan::sglang {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::Pair;
using testing_support::SglangContext;

// Flags as the context's version has them.
HasFlagFn FlagsOf(const SglangContext& c) {
  static const Result<FlagTable> table = FlagTable::Load(ConfigStore::BuiltIn(), "sglang");
  return [version = c.context.profile->version](const std::string& name) {
    const FlagRow* const row = table->Find(name);
    return row != nullptr && HasFlag(version, *row);
  };
}

std::vector<std::string> Argv(SglangContext& c, int64_t node = 0,
                              const EngineSettings& settings = {}) {
  return MakeCommand(c.context, ResolveDefaults(c.context), settings, "/models/K3", node, false,
                     FlagsOf(c))
      .argv;
}

// The values behind a flag; nothing where it is not there.
std::vector<std::string> After(const std::vector<std::string>& argv, const std::string& flag) {
  std::vector<std::string> values;
  auto it = std::find(argv.begin(), argv.end(), flag);
  if (it == argv.end()) return {"absent"};
  for (++it; it != argv.end() && !it->starts_with("--"); ++it) values.push_back(*it);
  return values;
}

TEST(SglangArguments, EveryNumberThePlanRestsOn) {
  SglangContext c("kimi-k3", "0.5.17");
  ServerArgs& a = c.args();
  a.tp_size = a.ep_size = 16;
  a.nnodes = 2;
  a.moe_runner_backend = "marlin";
  a.attention_backend = "flashmla";
  a.disable_radix_cache = true;
  a.context_length = 32768;
  const std::vector<std::string> argv = Argv(c);
  EXPECT_THAT(std::vector(argv.begin(), argv.begin() + 5),
              ElementsAre("python3", "-m", "sglang.launch_server", "--model-path", "/models/K3"));
  // 0.8246 is the default; no abbreviation, no --pp of one stage.
  EXPECT_THAT(After(argv, "--mem-fraction-static"), ElementsAre("0.824611875"));
  EXPECT_THAT(After(argv, "--tp-size"), ElementsAre("16"));
  EXPECT_THAT(After(argv, "--ep-size"), ElementsAre("16"));
  EXPECT_THAT(After(argv, "--nnodes"), ElementsAre("2"));
  EXPECT_THAT(After(argv, "--dist-init-addr"), ElementsAre("<MASTER_ADDR>:5000"));
  EXPECT_THAT(After(argv, "--page-size"), ElementsAre("64"));
  EXPECT_THAT(After(argv, "--chunked-prefill-size"), ElementsAre("8192"));
  EXPECT_THAT(After(argv, "--cuda-graph-max-bs-decode"), ElementsAre("512"));
  EXPECT_THAT(argv, IsSupersetOf({"--disable-radix-cache", "--trust-remote-code"}));
  EXPECT_THAT(argv, Not(Contains("--pp-size")));
}

TEST(SglangArguments, NodesDifferInTheirRankAlone) {
  SglangContext c("kimi-k3");
  c.args().tp_size = 16;
  c.args().nnodes = 2;
  std::vector<std::string> first = Argv(c, 0);
  std::vector<std::string> second = Argv(c, 1);
  ASSERT_EQ(first.size(), second.size());
  int differ = 0;
  for (size_t i = 0; i < first.size(); ++i) {
    if (first[i] == second[i]) continue;
    ++differ;
    EXPECT_EQ(first[i - 1], "--node-rank");
  }
  EXPECT_EQ(differ, 1);
}

// Under DP attention SGLang divides the chunk that it is given.
TEST(SglangArguments, TheChunkAsItIsGiven) {
  SglangContext c("deepseek-v3");
  c.args().tp_size = c.args().dp_size = 8;
  c.args().enable_dp_attention = true;
  EXPECT_THAT(After(Argv(c), "--chunked-prefill-size"), ElementsAre("8192"));
  EXPECT_THAT(Argv(c), IsSupersetOf({"--enable-dp-attention", "--dp-size"}));
}

// aiter's factor comes on top of the flag: the flag is what was asked for.
TEST(SglangArguments, TheFractionWithoutWhatABackendMakesOfIt) {
  SglangContext c("Qwen__Qwen3-32B");
  c.Card(196592, 0);
  c.args().mem_fraction_static = .9;
  EXPECT_DOUBLE_EQ(ResolveDefaults(c.context).mem_fraction_static, .9 * .85);
  EXPECT_THAT(After(Argv(c), "--mem-fraction-static"), ElementsAre("0.9"));
}

TEST(SglangArguments, NamesFollowTheVersion) {
  for (const auto& [version, flag] : {std::pair{"0.5.12", "--cuda-graph-max-bs"},
                                      std::pair{"0.5.13", "--cuda-graph-max-bs-decode"}}) {
    SglangContext c("Qwen__Qwen3-32B", version);
    EXPECT_THAT(Argv(c), Contains(flag)) << version;
  }
  for (const auto& [version, flag] : {std::pair{"0.5.14", "--mamba-scheduler-strategy"},
                                      std::pair{"0.5.17", "--mamba-radix-cache-strategy"}}) {
    SglangContext c("kimi-k3", version);
    c.args().mamba_radix_strategy = StateStrategy::kNoBuffer;
    EXPECT_THAT(After(Argv(c), flag), ElementsAre("no_buffer")) << version;
  }
  for (const auto& [version, flag] :
       {std::pair{"0.5.17", "--language-only"}, std::pair{"0.5.18", "--language-model-only"}}) {
    SglangContext c("kimi-k3", version);
    c.args().language_only = true;
    EXPECT_THAT(Argv(c), Contains(flag)) << version;
  }
}

TEST(SglangArguments, GraphsThatAreOff) {
  SglangContext c("Qwen__Qwen3-32B", "0.5.17");
  c.args().disable_cuda_graph = true;
  std::vector<std::string> argv = Argv(c);
  EXPECT_THAT(After(argv, "--cuda-graph-backend-decode"), ElementsAre("disabled"));
  EXPECT_THAT(After(argv, "--cuda-graph-backend-prefill"), ElementsAre("disabled"));
  SglangContext between("Qwen__Qwen3-32B", "0.5.13");  // sizes by phase, backends not yet
  between.args().disable_cuda_graph = true;
  EXPECT_THAT(Argv(between), Contains("--disable-cuda-graph"));
  SglangContext old("Qwen__Qwen3-32B", "0.5.3");
  old.args().disable_cuda_graph = true;
  argv = Argv(old);
  EXPECT_THAT(argv, Contains("--disable-cuda-graph"));
  EXPECT_THAT(argv, Not(Contains("--cuda-graph-backend-decode")));
  SglangContext sizes("Qwen__Qwen3-32B", "0.5.17");
  sizes.args().cuda_graph_bs = {1, 8};
  EXPECT_THAT(After(Argv(sizes), "--cuda-graph-bs-decode"), ElementsAre("1", "8"));
}

TEST(SglangArguments, OlderNamesAndFlagsThatAreNotThereYet) {
  SglangContext c("deepseek-v3", "0.4.9");
  c.args().tp_size = c.args().ep_size = 8;
  c.args().moe_a2a_backend = "deepep";
  EXPECT_THAT(Argv(c), IsSupersetOf({"--enable-ep-moe", "--enable-deepep-moe"}));
  EXPECT_THAT(Argv(c), Not(Contains("--moe-a2a-backend")));
  SglangContext states("kimi-k3", "0.5.3");
  EXPECT_THAT(Argv(states), Not(Contains("--mamba-full-memory-ratio")));
  SglangContext replay("kimi-k3", "0.5.17");
  replay.args().enable_linear_replayssm_spec = true;
  EXPECT_THAT(Argv(replay), Contains("--enable-gdn-replayssm-spec"));
  SglangContext balanced("deepseek-v3");
  balanced.args().tp_size = balanced.args().ep_size = 8;
  balanced.args().enable_eplb = true;
  balanced.args().redundant_experts = 32;
  EXPECT_THAT(Argv(balanced), IsSupersetOf({"--enable-eplb", "--ep-num-redundant-experts"}));
}

TEST(SglangArguments, WhatWasReadOfACommand) {
  SglangContext c("kimi-k3");
  c.args().pp_size = 2;
  EngineSettings settings;
  settings.env = {{"NCCL_DEBUG", "INFO"}};
  settings.extra_arguments = {"--host", "0.0.0.0"};
  settings.served_model = "moonshotai/Kimi-K3";
  settings.dtype = "bfloat16";
  const NodeCommand command = MakeCommand(c.context, ResolveDefaults(c.context), settings,
                                          "/models/K3", 0, true, FlagsOf(c));
  EXPECT_THAT(command.env,
              ElementsAre(Pair("SGLANG_PP_LAYER_PARTITION", "46,47"), Pair("NCCL_DEBUG", "INFO")));
  EXPECT_THAT(After(command.argv, "--model-path"), ElementsAre("moonshotai/Kimi-K3"));
  EXPECT_THAT(After(command.argv, "--host"), ElementsAre("0.0.0.0"));
  EXPECT_THAT(After(command.argv, "--dtype"), ElementsAre("bfloat16"));
}

TEST(SglangArguments, OffloadHostCacheSpeculationAndRoles) {
  SglangContext c("deepseek-v3");
  ServerArgs& a = c.args();
  a.offload_group_size = 4;
  a.enable_hierarchical_cache = true;
  a.hicache_size = 40;
  a.speculative_algorithm = "EAGLE";
  a.speculative_num_steps = 3;
  a.speculative_eagle_topk = 1;
  a.speculative_num_draft_tokens = 4;
  a.disaggregation_mode = Disaggregation::kDecode;
  a.disaggregation_decode_extra_slots = 16;
  const std::vector<std::string> argv = Argv(c);
  EXPECT_THAT(After(argv, "--offload-group-size"), ElementsAre("4"));
  EXPECT_THAT(After(argv, "--hicache-size"), ElementsAre("40"));
  EXPECT_THAT(After(argv, "--speculative-num-steps"), ElementsAre("3"));
  EXPECT_THAT(After(argv, "--speculative-num-draft-tokens"), ElementsAre("4"));
  EXPECT_THAT(After(argv, "--disaggregation-mode"), ElementsAre("decode"));
  // A draft asks for a limit, which the line spells out.
  EXPECT_THAT(After(argv, "--max-running-requests"), ElementsAre("48"));
}

TEST(SglangArguments, TheDraftIsNamedWhereTheEngineFindsIt) {
  SglangContext c("deepseek-v3");
  c.args().speculative_algorithm = "EAGLE3";
  c.args().speculative_draft_model_path = "here/config.json";
  EngineSettings settings;
  const auto draft = [&] {
    return After(MakeCommand(c.context, ResolveDefaults(c.context), settings, "/models/m", 0, true,
                             FlagsOf(c))
                     .argv,
                 "--speculative-draft-model-path");
  };
  EXPECT_THAT(draft(), ElementsAre("here/config.json"));
  settings.served_draft = "org/draft";
  EXPECT_THAT(draft(), ElementsAre("org/draft"));
}

}  // namespace
}  // namespace shardplan::sglang
