#include "cli/deployment_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/App.hpp>
#include <iomanip>
#include <sstream>
#include <vector>

#include "shardplan/base/units.h"
#include "shardplan/hardware/cluster_spec.h"

namespace shardplan::cli {
namespace {

using ::testing::ElementsAre;

struct Parsed {
  DeploymentOptions options;
  std::string error;
};

// Words separated by spaces.
Parsed Parse(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> std::quoted(word);) words.insert(words.begin(), word);
  CLI::App app;
  OptionSet set(&app);
  Parsed out;
  AddDeploymentOptions(&set, &out.options);
  app.parse(std::move(words));
  if (!set.status()) out.error = set.status().error().ToString();
  return out;
}

TEST(DeploymentOptionsTest, NothingIsTheEnginesDefault) {
  const Parsed parsed = Parse("m");
  EXPECT_EQ(parsed.error, "");
  EXPECT_EQ(parsed.options.model, "m");
  const Deployment& d = parsed.options.deployment;
  EXPECT_EQ(d.engine, "vllm");
  EXPECT_EQ(d.engine_version, "");
  EXPECT_EQ(d.sizes.world(), 1);
  EXPECT_FALSE(d.nodes || d.gpus_per_node || d.partition || d.output_tokens);
  EXPECT_EQ(d.require_concurrency, 1);
  EXPECT_FALSE(d.settings.max_model_len || d.settings.enable_prefix_caching);
}

TEST(DeploymentOptionsTest, ACluster) {
  // The path may hold a space.
  const auto quoted = [](const std::string& name) {
    return "\"" SHARDPLAN_TEST_DATA "/cli/" + name + "\"";
  };
  const Parsed parsed = Parse("m --nodes 1 --cluster " + quoted("cluster.yaml"));
  EXPECT_EQ(parsed.error, "");
  const Deployment& d = parsed.options.deployment;
  ASSERT_NE(d.cluster, nullptr);
  EXPECT_EQ(d.cluster->nodes(), 2);
  EXPECT_EQ(d.nodes, 1);
  EXPECT_THROW(Parse("m --gpu a10-24 --cluster " + quoted("cluster.yaml")), CLI::Error);
  EXPECT_THROW(Parse("m --gpus-per-node 2 --cluster " + quoted("cluster.yaml")), CLI::Error);
  EXPECT_THAT(Parse("m --cluster " + quoted("runs.yaml")).error,
              ::testing::HasSubstr("runs.yaml:2: unknown key runs; "));
}

TEST(DeploymentOptionsTest, GraphsOffloadAndBalancing) {
  const Parsed parsed = Parse(
      "m --enable-eplb --redundant-experts 8 --performance-mode throughput "
      "--no-enable-chunked-prefill --cudagraph-capture-sizes 1,2 --cudagraph-capture-sizes 8 "
      "--max-cudagraph-capture-size 8 --optimization-level 1 "
      "--compilation-config {\"cudagraph_mode\":\"FULL\"} --offload-group-size 8 "
      "--offload-num-in-group 2 --offload-prefetch-step 3 --offload-params a,b "
      "--load-format fastsafetensors");
  EXPECT_EQ(parsed.error, "");
  const EngineSettings& s = parsed.options.deployment.settings;
  EXPECT_TRUE(s.enable_eplb);
  EXPECT_EQ(s.redundant_experts, 8);
  EXPECT_EQ(s.performance_mode, "throughput");
  EXPECT_EQ(s.enable_chunked_prefill, false);
  EXPECT_THAT(*s.cudagraph_capture_sizes, ElementsAre(1, 2, 8));
  EXPECT_EQ(s.max_cudagraph_capture_size, 8);
  EXPECT_EQ(s.optimization_level, 1);
  EXPECT_EQ(s.cudagraph_mode, "FULL");
  EXPECT_EQ(s.offload_group_size, 8);
  EXPECT_EQ(s.offload_num_in_group, 2);
  EXPECT_EQ(s.offload_prefetch_step, 3);
  EXPECT_THAT(s.offload_params, ElementsAre("a", "b"));
  EXPECT_EQ(s.load_format, "fastsafetensors");
  EXPECT_EQ(Parse("m --eplb-config {\"num_redundant_experts\":16}")
                .options.deployment.settings.redundant_experts,
            16);
  EXPECT_EQ(Parse("m --compilation-config {").error,
            "--compilation-config {: expected JSON, could not parse");
  EXPECT_EQ(Parse("m --cudagraph-capture-sizes 1,x").error,
            "--cudagraph-capture-sizes 1,x: expected a whole number, at least 1");
}

TEST(DeploymentOptionsTest, WhereAndLayout) {
  const Parsed parsed = Parse(
      "m --gpu h20-96 --nodes 2 --gpus-per-node 4 --gpu-memory-in-use 2GiB "
      "--gpu-memory-total 90GB --engine vllm@0.28.0 --tp 8 --pp 2 --pp-partition 48,45 --dp 3 "
      "--dcp 4 --enable-expert-parallel");
  EXPECT_EQ(parsed.error, "");
  const Deployment& d = parsed.options.deployment;
  EXPECT_EQ(d.gpu, "h20-96");
  EXPECT_EQ(d.nodes, 2);
  EXPECT_EQ(d.gpus_per_node, 4);
  EXPECT_EQ(d.gpu_memory_in_use, Bytes(2 * kGiB));
  EXPECT_EQ(d.gpu_memory_total, Bytes(90'000'000'000));
  EXPECT_EQ(d.engine_version, "0.28.0");
  EXPECT_EQ(d.sizes.tp, 8);
  EXPECT_EQ(d.sizes.pp, 2);
  EXPECT_EQ(d.sizes.dp, 3);
  EXPECT_EQ(d.sizes.dcp, 4);
  EXPECT_TRUE(d.sizes.expert_parallel);
  EXPECT_THAT(*d.partition, ElementsAre(48, 45));
}

TEST(DeploymentOptionsTest, LongNamesOfSizes) {
  const Deployment d = Parse(
                           "m --tensor-parallel-size 8 --pipeline-parallel-size 2 "
                           "--data-parallel-size 3 --decode-context-parallel-size 4")
                           .options.deployment;
  EXPECT_EQ(d.sizes.tp, 8);
  EXPECT_EQ(d.sizes.pp, 2);
  EXPECT_EQ(d.sizes.dp, 3);
  EXPECT_EQ(d.sizes.dcp, 4);
}

TEST(DeploymentOptionsTest, EngineSettings) {
  const Parsed parsed = Parse(
      "m --max-model-len 512K --max-num-seqs 3 --max-num-batched-tokens 8k "
      "--gpu-memory-utilization 0.9 --kv-cache-memory-bytes 20G --kv-cache-dtype fp8 --dtype "
      "float16 --block-size 64 --enforce-eager --no-enable-prefix-caching --mamba-cache-mode align "
      "--offload-backend uva --cpu-offload-gb 32 --cpu-offload-params w13_weight,w2_weight "
      "--cpu-offload-params gate --language-model-only --mm-encoder-tp-mode data --moe-backend "
      "marlin --attention-backend FLASHMLA --numa-bind");
  EXPECT_EQ(parsed.error, "");
  const EngineSettings& s = parsed.options.deployment.settings;
  EXPECT_EQ(s.max_model_len, 524'288);
  EXPECT_FALSE(s.max_model_len_auto);
  EXPECT_EQ(s.max_num_seqs, 3);
  EXPECT_EQ(s.max_num_batched_tokens, 8'000);
  EXPECT_EQ(s.gpu_memory_utilization, 0.9);
  EXPECT_EQ(s.kv_cache_memory_bytes, Bytes(20 * kGiB));
  EXPECT_EQ(s.kv_cache_dtype, "fp8");
  EXPECT_EQ(s.dtype, "float16");
  EXPECT_EQ(s.block_size, 64);
  EXPECT_TRUE(s.enforce_eager);
  EXPECT_EQ(s.enable_prefix_caching, false);
  EXPECT_EQ(s.mamba_cache_mode, "align");
  EXPECT_EQ(s.offload_backend, "uva");
  EXPECT_EQ(s.cpu_offload_gb, 32.0);
  EXPECT_THAT(s.cpu_offload_params, ElementsAre("w13_weight", "w2_weight", "gate"));
  EXPECT_TRUE(s.language_model_only);
  EXPECT_EQ(s.mm_encoder_tp_mode, "data");
  EXPECT_EQ(s.moe_backend, "marlin");
  EXPECT_EQ(s.attention_backend, "FLASHMLA");
  EXPECT_TRUE(s.numa_bind);
  EXPECT_EQ(Parse("m --enable-prefix-caching").options.deployment.settings.enable_prefix_caching,
            true);
}

TEST(DeploymentOptionsTest, RarerSettings) {
  const Parsed parsed = Parse(
      "m --mamba-cache-dtype float32 --mamba-ssm-cache-dtype float16 "
      "--disable-hybrid-kv-cache-manager --no-async-scheduling --num-gpu-blocks-override 7 "
      "--disable-custom-all-reduce --logprobs-mode raw_logits --moe-backend Deep-GEMM "
      "--attention-backend flash_attn");
  EXPECT_EQ(parsed.error, "");
  EngineSettings s = parsed.options.deployment.settings;
  EXPECT_EQ(s.mamba_cache_dtype, "float32");
  EXPECT_EQ(s.mamba_ssm_cache_dtype, "float16");
  EXPECT_TRUE(s.disable_hybrid_kv_cache_manager);
  EXPECT_EQ(s.async_scheduling, false);
  EXPECT_EQ(s.num_gpu_blocks_override, 7);
  EXPECT_TRUE(s.disable_custom_all_reduce);
  EXPECT_EQ(s.logprobs_mode, "raw_logits");
  EXPECT_EQ(s.moe_backend, "deep_gemm");
  EXPECT_EQ(s.attention_backend, "FLASH_ATTN");
  s = Parse(
          "m --async-scheduling --no-disable-hybrid-kv-cache-manager "
          "--no-disable-custom-all-reduce")
          .options.deployment.settings;
  EXPECT_EQ(s.async_scheduling, true);
  EXPECT_FALSE(s.disable_hybrid_kv_cache_manager || s.disable_custom_all_reduce);
  EXPECT_THROW(Parse("m --async-scheduling --no-async-scheduling"), CLI::ExcludesError);
}

TEST(DeploymentOptionsTest, Variables) {
  const Parsed parsed = Parse(
      "m --env VLLM_PP_LAYER_PARTITION=48,45 --env VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0 "
      "--env VLLM_USE_V2_MODEL_RUNNER=1 --env A= --env B=x=y --env A=2");
  EXPECT_EQ(parsed.error, "");
  const Deployment& d = parsed.options.deployment;
  EXPECT_THAT(*d.partition, ElementsAre(48, 45));
  EXPECT_EQ(d.settings.estimate_graphs, false);
  EXPECT_EQ(d.settings.v2_model_runner, true);
  EXPECT_THAT(d.settings.env, ElementsAre(OptionValue("B", "x=y"), OptionValue("A", "2")));
}

TEST(DeploymentOptionsTest, Speculation) {
  const Parsed parsed =
      Parse(R"(m --speculative-config {"method":"mtp","num_speculative_tokens":3})");
  EXPECT_EQ(parsed.error, "");
  ASSERT_TRUE(parsed.options.deployment.settings.speculation.has_value());
  EXPECT_EQ(parsed.options.deployment.settings.speculation->tokens, 3);
  EXPECT_EQ(Parse("m --speculative-config mtp").error.substr(0, 26), "--speculative-config mtp: ");
}

TEST(DeploymentOptionsTest, Adapters) {
  const Parsed parsed =
      Parse(R"(m --enable-lora --max-loras 4 --max-lora-rank 32 --lora-dtype float16 )"
            R"(--fully-sharded-loras --kv-transfer-config {"kv_connector":"NixlConnector"})");
  EXPECT_EQ(parsed.error, "");
  const EngineSettings& s = parsed.options.deployment.settings;
  EXPECT_TRUE(s.enable_lora);
  EXPECT_EQ(s.max_loras, 4);
  EXPECT_EQ(s.max_lora_rank, 32);
  EXPECT_EQ(s.lora_dtype, "float16");
  EXPECT_TRUE(s.fully_sharded_loras);
  ASSERT_TRUE(s.kv_transfer.has_value());
  EXPECT_EQ(s.kv_transfer->connector, "NixlConnector");
}

TEST(DeploymentOptionsTest, TheLargestWindow) {
  EXPECT_TRUE(Parse("m --max-model-len auto").options.deployment.settings.max_model_len_auto);
  EXPECT_TRUE(Parse("m --max-model-len -1").options.deployment.settings.max_model_len_auto);
}

TEST(DeploymentOptionsTest, WhatIsAsked) {
  const Parsed parsed = Parse(
      "m --output-tokens 32K --require-concurrency 4 --typical-tokens 100 --assume mtp=false "
      "--assume inv_freq=56");
  EXPECT_EQ(parsed.error, "");
  EXPECT_EQ(parsed.options.deployment.output_tokens, 32'768);
  EXPECT_EQ(parsed.options.deployment.require_concurrency, 4);
  EXPECT_EQ(parsed.options.deployment.typical_tokens, 100);
  EXPECT_EQ(parsed.options.assumptions.mtp, false);
  EXPECT_EQ(parsed.options.assumptions.inv_freq, 56);
}

TEST(DeploymentOptionsTest, Errors) {
  const std::pair<const char*, const char*> cases[] = {
      {"m --gpu-memory-in-use 12",
       "--gpu-memory-in-use 12: the byte size has no unit; write a number and a unit, such as "
       "32GiB or 32GB"},
      {"m --max-model-len 12Q",
       "--max-model-len 12Q: expected a number of tokens, found the suffix Q; write a plain "
       "number, or one like 512K (524,288) or 512k (512,000)"},
      {"m --kv-cache-memory-bytes 20GiB",
       "--kv-cache-memory-bytes 20GiB: expected a number of bytes; vLLM's suffixes k, m, g are "
       "powers of 1,000 and K, M, G powers of 1,024: 20G"},
      {"m --gpu-memory-utilization 90%",
       "--gpu-memory-utilization 90%: expected a decimal number such as 0.9"},
      {"m --cpu-offload-params a,,b",
       "--cpu-offload-params a,,b: expected names separated by commas"},
      {"m --cpu-offload-params a,", "--cpu-offload-params a,: expected names separated by commas"},
      {"m --assume foo=1",
       "--assume foo=1: expected one of mtp=BOOL, mtp_embed=BOOL, stacked_experts=BOOL, "
       "inv_freq=N"},
      {"m --pp-partition 48,x",
       "--pp-partition 48,x: expected the layers of each stage as positive numbers; write them "
       "with commas, such as 48,45"},
      {"m --logprobs-mode raw",
       "--logprobs-mode raw: expected processed_logits, processed_logprobs, raw_logits or "
       "raw_logprobs"},
      {"m --num-gpu-blocks-override 0",
       "--num-gpu-blocks-override 0: expected a whole number, at least 1"},
      {"m --env 1A=2", "--env 1A=2: expected NAME=VALUE; such as VLLM_USE_V2_MODEL_RUNNER=0"},
      {"m --env VLLM_USE_V2_MODEL_RUNNER=on", "--env VLLM_USE_V2_MODEL_RUNNER=on: expected 0 or 1"},
      {"m --engine vllm@",
       "--engine vllm@: expected a version after the @; `shardplan catalog engines` lists those "
       "with a profile"},
      {"m --engine vlm",
       "--engine vlm: expected vllm or sglang, with @VERSION or without; did you mean vllm?"},
      {"m --engine tgi", "--engine tgi: expected vllm or sglang, with @VERSION or without"},
      {"m --engine sglang@",
       "--engine sglang@: expected a version after the @; `shardplan catalog engines` lists those "
       "with a profile"},
  };
  for (const auto& [line, error] : cases) EXPECT_EQ(Parse(line).error, error);
}

}  // namespace
}  // namespace shardplan::cli
