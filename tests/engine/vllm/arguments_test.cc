#include "engine/vllm/arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "support/vllm_context.h"

namespace shardplan {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using testing_support::VllmContext;

vllm::NodeFacts Facts(int64_t node, int64_t nodes) {
  vllm::NodeFacts facts;
  facts.node = node;
  facts.nodes = nodes;
  facts.gpus = 8;
  facts.numa_of_gpu = {0, 0, 0, 0, 1, 1, 1, 1};
  return facts;
}

TEST(VllmArguments, SpeculationIsPassedOnAsGiven) {
  VllmContext c("deepseek-v3");
  c.context.sizes.tp = 8;
  Speculation s;
  s.text = R"({"method": "deepseek_mtp", "num_speculative_tokens": 1})";
  s.method = "mtp";
  s.tokens = 1;
  c.context.settings.speculation = s;
  c.Resolve();
  const std::vector<std::string> argv = vllm::MakeCommand(c.context, "m", Facts(0, 1)).argv;
  const auto at = std::find(argv.begin(), argv.end(), "--speculative-config");
  ASSERT_NE(at, argv.end());
  EXPECT_EQ(*(at + 1), s.text);
}

// The draft's place alone is written anew; keys keep their order.
TEST(VllmArguments, TheDraftIsNamedWhereTheEngineFindsIt) {
  VllmContext c("deepseek-v3");
  c.context.sizes.tp = 8;
  Speculation s;
  s.text = R"({"method":"eagle3","model":"here/config.json","num_speculative_tokens":3,"a":"b"})";
  s.method = "eagle3";
  s.model = "here/config.json";
  s.tokens = 3;
  c.context.settings.speculation = s;
  c.context.settings.served_draft = "/models/it's";
  c.Resolve();
  const std::vector<std::string> argv = vllm::MakeCommand(c.context, "m", Facts(0, 1)).argv;
  const auto at = std::find(argv.begin(), argv.end(), "--speculative-config");
  ASSERT_NE(at, argv.end());
  EXPECT_EQ(*(at + 1),
            R"({"method":"eagle3","model":"/models/it's","num_speculative_tokens":3,"a":"b"})");
}

TEST(VllmArguments, Adapters) {
  VllmContext c("deepseek-v3");
  c.context.sizes.tp = 8;
  EngineSettings& s = c.context.settings;
  s.max_loras = 4;
  s.kv_transfer = KvTransfer{R"({"kv_connector": "x"})", "x", Bytes(), true};
  c.Resolve();
  const auto argv = [&] { return vllm::MakeCommand(c.context, "m", Facts(0, 1)).argv; };
  EXPECT_THAT(argv(), Not(Contains("--max-loras")));
  EXPECT_THAT(argv(), Contains("--kv-transfer-config"));
  EXPECT_THAT(argv(), Contains(R"({"kv_connector": "x"})"));
  s.enable_lora = s.fully_sharded_loras = true;
  s.max_lora_rank = 32;
  s.lora_dtype = "float16";
  const std::vector<std::string> with = argv();
  const auto at = std::find(with.begin(), with.end(), "--enable-lora");
  ASSERT_GE(with.end() - at, 8);
  EXPECT_THAT(std::vector<std::string>(at, at + 8),
              ElementsAre("--enable-lora", "--max-loras", "4", "--max-lora-rank", "32",
                          "--lora-dtype", "float16", "--fully-sharded-loras"));
}

TEST(VllmArguments, KimiK3OnTwoNodes) {
  VllmContext c("kimi-k3");
  c.context.sizes.tp = 8;
  c.context.sizes.pp = 2;
  EngineSettings& s = c.context.settings;
  s.max_model_len = 524'288;
  s.max_num_seqs = 1;
  s.max_num_batched_tokens = 8192;
  s.gpu_memory_utilization = 0.9;
  s.enforce_eager = s.language_model_only = s.numa_bind = true;
  s.cpu_offload_gb = 32;
  s.cpu_offload_params = {"w13_weight", "w2_weight"};
  c.Resolve("48,45");
  vllm::NodeFacts facts = Facts(1, 2);
  facts.explicit_partition = true;
  const NodeCommand command = vllm::MakeCommand(c.context, "/models/Kimi K3", facts);
  EXPECT_THAT(command.env, ElementsAre(Pair("VLLM_PP_LAYER_PARTITION", "48,45")));
  EXPECT_THAT(
      command.argv,
      ElementsAre("vllm", "serve", "/models/Kimi K3", "--trust-remote-code",
                  "--tensor-parallel-size", "8", "--pipeline-parallel-size", "2",
                  "--distributed-executor-backend", "mp", "--nnodes", "2", "--node-rank", "1",
                  "--master-addr", "<MASTER_ADDR>", "--master-port", "29501", "--headless",
                  "--max-model-len", "524288", "--max-num-seqs", "1", "--max-num-batched-tokens",
                  "8192", "--gpu-memory-utilization", "0.9", "--enable-prefix-caching",
                  "--mamba-cache-mode", "align", "--enforce-eager", "--language-model-only",
                  "--offload-backend", "uva", "--cpu-offload-gb", "32", "--cpu-offload-params",
                  "w13_weight", "w2_weight", "--numa-bind", "--numa-bind-nodes", "0", "0", "0", "0",
                  "1", "1", "1", "1"));
}

TEST(VllmArguments, GraphsOffloadAndBalancing) {
  VllmContext c("kimi-k3");
  EngineSettings& s = c.context.settings;
  c.context.sizes.tp = 8;
  c.context.sizes.expert_parallel = true;
  s.enable_chunked_prefill = true;
  s.performance_mode = "interactivity";
  s.optimization_level = 2;
  s.cudagraph_capture_sizes = {{1, 2, 4}};
  s.max_cudagraph_capture_size = 4;
  s.cudagraph_mode = "PIECEWISE";
  s.offload_group_size = 8;
  s.offload_params = {"w2_weight"};
  s.enable_eplb = true;
  s.redundant_experts = 16;
  s.load_format = "fastsafetensors";
  c.Resolve();
  const std::vector<std::string> argv = vllm::MakeCommand(c.context, "m", Facts(0, 1)).argv;
  const std::string line = fmt::format("{}", fmt::join(argv, " "));
  EXPECT_THAT(line, HasSubstr("--enable-expert-parallel --enable-eplb --eplb-config "
                              "{\"num_redundant_experts\":16,\"window_size\":1000} "));
  EXPECT_THAT(line, HasSubstr("--enable-chunked-prefill --performance-mode interactivity "));
  EXPECT_THAT(line, HasSubstr("--optimization-level 2 --cudagraph-capture-sizes 1 2 4 "
                              "--max-cudagraph-capture-size 4 --compilation-config "
                              "{\"cudagraph_mode\":\"PIECEWISE\"}"));
  EXPECT_THAT(line, HasSubstr("--load-format fastsafetensors --offload-backend prefetch "
                              "--offload-group-size 8 --offload-num-in-group 1 "
                              "--offload-prefetch-step 1 --offload-params w2_weight"));
}

TEST(VllmArguments, OptionsOfTheCacheAreRepeated) {
  VllmContext c("kimi-k3");
  EngineSettings& s = c.context.settings;
  s.mamba_cache_dtype = "float32";
  s.mamba_ssm_cache_dtype = "float32";
  s.disable_hybrid_kv_cache_manager = true;
  s.async_scheduling = false;
  c.Resolve();
  const std::vector<std::string> argv = vllm::MakeCommand(c.context, "m", Facts(0, 1)).argv;
  for (const char* flag : {"--mamba-cache-dtype", "--mamba-ssm-cache-dtype",
                           "--disable-hybrid-kv-cache-manager", "--no-async-scheduling"}) {
    EXPECT_THAT(argv, Contains(flag));
  }
}

TEST(VllmArguments, OnlyNodeRankAndHeadlessDifferBetweenNodes) {
  VllmContext c("kimi-k3");
  c.context.sizes.tp = 8;
  c.context.sizes.pp = 2;
  c.Resolve();
  std::vector<std::string> first = vllm::MakeCommand(c.context, "m", Facts(0, 2)).argv;
  std::vector<std::string> second = vllm::MakeCommand(c.context, "m", Facts(1, 2)).argv;
  std::erase(second, "--headless");
  ASSERT_EQ(first.size(), second.size());
  int different = 0;
  for (size_t i = 0; i < first.size(); ++i) different += first[i] != second[i];
  EXPECT_EQ(different, 1);
}

TEST(VllmArguments, OneNodeNeedsNoAddresses) {
  VllmContext c("dense-70b");
  c.context.sizes.tp = 4;
  c.Resolve();
  const NodeCommand command = vllm::MakeCommand(c.context, "m", Facts(0, 1));
  EXPECT_THAT(command.env, IsEmpty());
  EXPECT_THAT(command.argv, Not(Contains("--nnodes")));
  EXPECT_THAT(command.argv, Not(Contains("--trust-remote-code")));
  EXPECT_THAT(command.argv, Not(Contains("--mamba-cache-mode")));
}

TEST(VllmArguments, DataParallelEnginesStartWhereTheirNodeDoes) {
  VllmContext c("deepseek-v3");
  c.context.sizes.tp = 4;
  c.context.sizes.dp = 4;
  c.context.sizes.expert_parallel = true;
  c.Resolve();
  const auto argv = vllm::MakeCommand(c.context, "m", Facts(1, 2)).argv;
  EXPECT_THAT(argv, Contains("--data-parallel-start-rank"));
  const auto at = std::find(argv.begin(), argv.end(), "--data-parallel-start-rank");
  EXPECT_EQ(*(at + 1), "2");
  EXPECT_THAT(argv, Contains("--headless"));
}

TEST(VllmArguments, ADashedPathIsNoFlag) {
  VllmContext c("dense-70b");
  c.Resolve();
  EXPECT_EQ(vllm::MakeCommand(c.context, "-rf", Facts(0, 1)).argv[2], "./-rf");
}

TEST(VllmArguments, VariablesAndFlagsWithoutAMeaningGoThrough) {
  VllmContext c("dense-70b");
  EngineSettings& s = c.context.settings;
  s.estimate_graphs = false;
  s.v2_model_runner = true;
  s.env = {{"NCCL_DEBUG", "INFO"}};
  s.num_gpu_blocks_override = 7;
  s.disable_custom_all_reduce = true;
  s.logprobs_mode = "raw_logits";
  s.served_model = "org/name";
  s.extra_arguments = {"--port", "8001", "--max-model-len=5", "--max-num-seqs", "1", "--seed=3"};
  c.Resolve();
  const NodeCommand command = vllm::MakeCommand(c.context, "m", Facts(0, 1));
  EXPECT_THAT(command.env,
              ElementsAre(Pair("VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS", "0"),
                          Pair("VLLM_USE_V2_MODEL_RUNNER", "1"), Pair("NCCL_DEBUG", "INFO")));
  EXPECT_EQ(command.argv[2], "org/name");
  for (const char* flag :
       {"--num-gpu-blocks-override", "--disable-custom-all-reduce", "--logprobs-mode"}) {
    EXPECT_THAT(command.argv, Contains(flag));
  }
  // What the plan says itself is not said twice.
  const std::vector<std::string> tail(command.argv.end() - 4, command.argv.end());
  EXPECT_THAT(tail, ElementsAre("raw_logits", "--port", "8001", "--seed=3"));
}

}  // namespace
}  // namespace shardplan
