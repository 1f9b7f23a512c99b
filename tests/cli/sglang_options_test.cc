#include "cli/sglang_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/App.hpp>
#include <sstream>

#include "cli/deployment_options.h"
#include "shardplan/base/units.h"

namespace shardplan::cli {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct ParsedSglang {
  Deployment d;
  std::string error;
};

ParsedSglang ParseSglang(const std::string& line) {
  std::istringstream stream("m " + line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.insert(words.begin(), word);
  CLI::App app;
  OptionSet set(&app);
  DeploymentOptions options;
  AddDeploymentOptions(&set, &options);
  app.parse(std::move(words));
  return {options.deployment, set.status() ? "" : set.status().error().ToString()};
}

// One spelling or the other: the same setting of both engines.
TEST(SglangOptions, SpellingsOfTheSame) {
  for (const char* line : {"--tp-size 16 --pp-size 2 --dp-size 4 --dcp-size 8 --context-length 32K "
                           "--max-running-requests 50 --chunked-prefill-size 4096 --page-size 64 "
                           "--disable-cuda-graph --disable-radix-cache --mamba-ssm-dtype bfloat16 "
                           "--language-only",
                           "--tp 16 --pp 2 --dp 4 --dcp 8 --max-model-len 32K --max-num-seqs 50 "
                           "--max-num-batched-tokens 4096 --block-size 64 --enforce-eager "
                           "--no-enable-prefix-caching --mamba-ssm-cache-dtype bfloat16 "
                           "--language-model-only"}) {
    const ParsedSglang p = ParseSglang(line);
    EXPECT_EQ(p.error, "");
    EXPECT_EQ(p.d.sizes.tp, 16);
    EXPECT_EQ(p.d.sizes.pp, 2);
    EXPECT_EQ(p.d.sizes.dp, 4);
    EXPECT_EQ(p.d.sizes.dcp, 8);
    EXPECT_EQ(p.d.settings.max_model_len, 32768);
    EXPECT_EQ(p.d.sglang.context_length, 32768);
    EXPECT_EQ(p.d.settings.max_num_seqs, 50);
    EXPECT_EQ(p.d.sglang.max_running_requests, 50);
    EXPECT_EQ(p.d.settings.max_num_batched_tokens, 4096);
    EXPECT_EQ(p.d.sglang.chunked_prefill_size, 4096);
    EXPECT_EQ(p.d.settings.block_size, 64);
    EXPECT_EQ(p.d.sglang.page_size, 64);
    EXPECT_TRUE(p.d.settings.enforce_eager && p.d.sglang.disable_cuda_graph);
    EXPECT_EQ(p.d.settings.enable_prefix_caching, false);
    EXPECT_TRUE(p.d.sglang.disable_radix_cache);
    EXPECT_EQ(p.d.sglang.mamba_ssm_dtype, DType::kBF16);
    EXPECT_TRUE(p.d.settings.language_model_only && p.d.sglang.language_only);
    EXPECT_THAT(p.d.vllm_options, IsEmpty());
    EXPECT_THAT(p.d.sglang_options, IsEmpty());
  }
  EXPECT_EQ(ParseSglang("--chunked-prefill-size -1").d.sglang.chunked_prefill_size, -1);
  EXPECT_EQ(ParseSglang("--offload-group-size -1").d.sglang.offload_group_size, 0);
  EXPECT_TRUE(ParseSglang("--enable-eplb").d.sglang.enable_eplb);
  EXPECT_TRUE(ParseSglang("--enable-ep-moe").d.sglang.enable_ep_moe);
  EXPECT_EQ(ParseSglang("--enable-deepep-moe").d.sglang.moe_a2a_backend, "deepep");
  EXPECT_EQ(ParseSglang("--kv-cache-dtype fp8").d.sglang.kv_cache_dtype, "fp8_e4m3");
  EXPECT_EQ(ParseSglang("--attention-backend FLASHMLA").d.sglang.attention_backend, "flashmla");
}

TEST(SglangOptions, ItsOwn) {
  const ParsedSglang p = ParseSglang(
      "--ep-size 16 --enable-dp-attention --enable-dp-lm-head --moe-dense-tp-size 1 --moe-dp-size "
      "2 "
      "--moe-a2a-backend deepep --moe-runner-backend marlin --decode-attention-backend flashmla "
      "--prefill-attention-backend fa3 --mem-fraction-static 0.85 --free-memory-before-load "
      "138.1GiB "
      "--max-prefill-tokens 8192 --max-total-tokens 100000 --swa-full-tokens-ratio 0.5 "
      "--disable-overlap-schedule --enable-symm-mem --mm-feature-transport cuda_ipc "
      "--enable-hierarchical-cache --hicache-ratio 1.5 --hicache-size 40 "
      "--disaggregation-mode decode --disaggregation-decode-extra-slots 16");
  EXPECT_EQ(p.error, "");
  const SglangSettings& s = p.d.sglang;
  EXPECT_EQ(s.ep_size, 16);
  EXPECT_TRUE(s.enable_dp_attention && s.enable_dp_lm_head);
  EXPECT_EQ(s.moe_dense_tp_size, 1);
  EXPECT_EQ(s.moe_dp_size, 2);
  EXPECT_EQ(s.moe_a2a_backend, "deepep");
  EXPECT_EQ(s.moe_runner_backend, "marlin");
  EXPECT_EQ(s.decode_attention_backend, "flashmla");
  EXPECT_EQ(s.prefill_attention_backend, "fa3");
  EXPECT_EQ(s.mem_fraction_static, .85);
  EXPECT_EQ(s.free_before_load, Gibibytes(138.1).ToBytes());
  EXPECT_EQ(s.max_prefill_tokens, 8192);
  EXPECT_EQ(s.max_total_tokens, 100000);
  EXPECT_EQ(s.swa_full_tokens_ratio, .5);
  EXPECT_TRUE(s.disable_overlap_schedule && s.enable_symm_mem && s.feature_transport_on_gpu);
  EXPECT_TRUE(s.enable_hierarchical_cache);
  EXPECT_EQ(s.hicache_ratio, 1.5);
  EXPECT_EQ(s.hicache_size, 40);
  EXPECT_EQ(s.disaggregation_mode, Disaggregation::kDecode);
  EXPECT_EQ(s.disaggregation_decode_extra_slots, 16);
  EXPECT_THAT(p.d.sglang_options, Contains("--ep-size"));
  EXPECT_THAT(p.d.sglang_options, Contains("--enable-dp-attention"));
  EXPECT_THAT(ParseSglang("--gpu-memory-utilization 0.9 --numa-bind").d.vllm_options,
              ElementsAre("--gpu-memory-utilization", "--numa-bind"));
}

TEST(SglangOptions, GraphsStatesAndDrafts) {
  const ParsedSglang p = ParseSglang(
      "--cuda-graph-max-bs 128 --cuda-graph-bs 1,2 --cuda-graph-bs 8 --cuda-graph-max-bs-prefill "
      "2048 --cuda-graph-backend-prefill tc_piecewise --cuda-graph-backend-decode disabled "
      "--mamba-full-memory-ratio 0.2 --max-mamba-cache-size 100 --mamba-scheduler-strategy "
      "no_buffer --enable-linear-replayssm-spec --linear-replayssm-cache-len 32 "
      "--speculative-algorithm eagle --speculative-num-steps 3 --speculative-eagle-topk 1 "
      "--speculative-num-draft-tokens 4 --speculative-draft-model-path d --draft-weights 3GiB "
      "--draft-bytes-per-token 1024");
  EXPECT_EQ(p.error, "");
  const SglangSettings& s = p.d.sglang;
  EXPECT_EQ(s.cuda_graph_max_bs, 128);
  EXPECT_THAT(s.cuda_graph_bs, ElementsAre(1, 2, 8));
  EXPECT_EQ(s.prefill_graph_max_bs, 2048);
  EXPECT_EQ(s.prefill_graph, PrefillGraph::kPiecewise);
  EXPECT_TRUE(s.disable_decode_graph);
  EXPECT_EQ(s.mamba_full_memory_ratio, .2);
  EXPECT_EQ(s.max_mamba_cache_size, 100);
  EXPECT_EQ(s.mamba_radix_strategy, StateStrategy::kNoBuffer);
  EXPECT_TRUE(s.enable_linear_replayssm_spec);
  EXPECT_EQ(s.linear_replayssm_cache_len, 32);
  EXPECT_EQ(s.speculative_algorithm, "EAGLE");
  EXPECT_EQ(s.speculative_num_steps, 3);
  EXPECT_EQ(s.speculative_eagle_topk, 1);
  EXPECT_EQ(s.speculative_num_draft_tokens, 4);
  EXPECT_EQ(s.speculative_draft_model_path, "d");
  EXPECT_EQ(s.draft_weights, Bytes(int64_t{3} << 30));
  EXPECT_EQ(s.draft_bytes_per_token, 1024);
}

TEST(SglangOptions, Variables) {
  const ParsedSglang p = ParseSglang(
      "--env SGLANG_PP_LAYER_PARTITION=48,45 --env SGLANG_AITER_K3_OPT=1 --env "
      "SGLANG_SYMM_MEM_PREALLOC_GB_SIZE=2 --env SGLANG_SWA_EVICTION_INTERVAL=4 --env "
      "SGLANG_MAMBA_CONV_DTYPE=float32 --env SGLANG_MAMBA_SSM_DTYPE=bfloat16 --env "
      "SGLANG_OPT_MAMBA_SKIP_DECODE_LOCK=true");
  EXPECT_EQ(p.error, "");
  EXPECT_EQ(p.d.partition, (std::vector<int64_t>{48, 45}));
  const SglangSettings& s = p.d.sglang;
  EXPECT_TRUE(s.aiter_k3_opt && s.skip_decode_lock);
  EXPECT_EQ(s.symm_mem_prealloc_gib, 2);
  EXPECT_EQ(s.swa_eviction_interval, 4);
  EXPECT_EQ(s.mamba_conv_dtype, DType::kF32);
  EXPECT_EQ(s.mamba_ssm_dtype, DType::kBF16);
  // They go into the launch commands as they are; the partition is written by the plan.
  EXPECT_EQ(p.d.settings.env.size(), 6u);
}

TEST(SglangOptions, Errors) {
  const std::pair<const char*, const char*> cases[] = {
      {"--mem-fraction-static 1.5",
       "--mem-fraction-static 1.5: expected a fraction between 0 and 1"},
      {"--mem-fraction-static 0", "--mem-fraction-static 0: expected a fraction between 0 and 1"},
      {"--ep-size 0", "--ep-size 0: expected a whole number, at least 1"},
      {"--free-memory-before-load 138",
       "--free-memory-before-load 138: the byte size has no unit; write a number and a unit, such "
       "as 32GiB or 32GB"},
      {"--disaggregation-mode both",
       "--disaggregation-mode both: expected null, prefill or decode"},
      {"--mamba-radix-cache-strategy lazy",
       "--mamba-radix-cache-strategy lazy: expected auto, no_buffer, extra_buffer or "
       "extra_buffer_lazy"},
      {"--moe-runner-backend marlim",
       "--moe-runner-backend marlim: SGLang has no backend of this name; did you mean marlin?"},
      {"--mamba-ssm-dtype fp8",
       "--mamba-ssm-cache-dtype fp8: expected auto, float32, float16 or bfloat16"},
      {"--context-length 0", "--max-model-len 0: expected at least 1 token"},
      {"--cuda-graph-bs 1,,2", "--cuda-graph-bs-decode 1,,2: expected a whole number, at least 1"},
      {"--env SGLANG_MAMBA_SSM_DTYPE=int8",
       "--env SGLANG_MAMBA_SSM_DTYPE=int8: expected float32, float16 or bfloat16"},
      {"--env SGLANG_SYMM_MEM_PREALLOC_GB_SIZE=x",
       "--env SGLANG_SYMM_MEM_PREALLOC_GB_SIZE=x: expected GiB, zero or more"},
  };
  for (const auto& [line, error] : cases) EXPECT_EQ(ParseSglang(line).error, error);
}

}  // namespace
}  // namespace shardplan::cli
