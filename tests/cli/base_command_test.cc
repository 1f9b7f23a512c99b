#include "cli/base_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/App.hpp>
#include <sstream>
#include <vector>

namespace shardplan::cli {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Read {
  DeploymentOptions what;
  BaseCommand base;
  std::string error;
};

Read Base(const std::string& command, const std::string& line = "m",
          const std::vector<std::string>& engines = {}) {
  std::istringstream stream(line);
  // CLI11 takes words from the back.
  std::vector<std::string> words = {command, "--from-command"};
  for (std::string word; stream >> word;) words.insert(words.begin() + 2, word);
  CLI::App app;
  OptionSet set(&app);
  Read out;
  AddDeploymentOptions(&set, &out.what);
  AddBaseCommand(&set, &engines, &out.what, &out.base);
  app.parse(std::move(words));
  if (!set.status()) out.error = set.status().error().ToString();
  const Status status = set.Finish();
  if (!status) out.error = status.error().ToString();
  return out;
}

TEST(BaseCommandTest, TheLayoutIsFreeAndTheRestStays) {
  const Read read = Base(
      "VLLM_PP_LAYER_PARTITION=48,45 vllm serve moonshotai/Kimi-K3 -tp 8 -pp 2 --nnodes 2 "
      "--node-rank 1 --enable-expert-parallel --cpu-offload-gb 32 --max-model-len 512K "
      "--kv-cache-dtype fp8 --enforce-eager --seed 7");
  EXPECT_EQ(read.error, "");
  EXPECT_EQ(read.base.text,
            "vllm serve moonshotai/Kimi-K3 --max-model-len 512K --kv-cache-dtype fp8 "
            "--enforce-eager --seed 7");
  EXPECT_THAT(read.base.freed, ElementsAre("VLLM_PP_LAYER_PARTITION=48,45",
                                           "--tensor-parallel-size 8", "--pipeline-parallel-size 2",
                                           "--enable-expert-parallel", "--cpu-offload-gb 32"));
  EXPECT_THAT(read.base.options, Contains("kv-cache-dtype"));
  const Deployment& d = read.what.deployment;
  EXPECT_EQ(d.sizes.tp, 1);
  EXPECT_FALSE(d.partition);
  EXPECT_EQ(d.settings.cpu_offload_gb, 0);
  EXPECT_EQ(d.settings.max_model_len, 524'288);
  EXPECT_EQ(d.nodes, 2);
  ASSERT_TRUE(read.base.today);
  EXPECT_EQ(read.base.today->sizes.tp, 8);
  EXPECT_EQ(read.base.today->settings.cpu_offload_gb, 32);
  EXPECT_TRUE(read.base.today->sizes.expert_parallel);
}

TEST(BaseCommandTest, WhatTheLineGivesIsKept) {
  const Read read =
      Base("vllm serve x/y --tensor-parallel-size 4 --pipeline-parallel-size 2", "--tp 8 m");
  EXPECT_EQ(read.error, "");
  EXPECT_EQ(read.what.deployment.sizes.tp, 8);
  EXPECT_EQ(read.what.deployment.sizes.pp, 1);
  EXPECT_THAT(read.base.freed, ElementsAre("--pipeline-parallel-size 2"));
}

TEST(BaseCommandTest, SecretsAreLeftOut) {
  const Read read = Base("HF_TOKEN=abc vllm serve x/y --api-key s3cret --max-num-seqs 4");
  EXPECT_EQ(read.error, "");
  EXPECT_EQ(read.base.text, "vllm serve x/y --max-num-seqs 4");
}

TEST(BaseCommandTest, AnImageNamesTheVersion) {
  const Read read = Base(
      "docker run -e VLLM_LOGGING_LEVEL=DEBUG vllm/vllm-openai:v0.30.0 --model x/y -tp 2 "
      "--max-num-seqs 4");
  EXPECT_EQ(read.error, "");
  EXPECT_EQ(read.base.text,
            "docker run -e VLLM_LOGGING_LEVEL=DEBUG --entrypoint vllm vllm/vllm-openai:v0.30.0 "
            "serve x/y --max-num-seqs 4");
  EXPECT_EQ(read.what.deployment.engine_version, "0.30.0");
}

TEST(BaseCommandTest, Sglang) {
  const Read read = Base(
      "python3 -m sglang.launch_server --model-path x/y --tp 8 --dp 8 --enable-dp-attention "
      "--ep-size 8 --context-length 4096",
      "m", {"sglang"});
  EXPECT_EQ(read.error, "");
  EXPECT_EQ(read.base.text,
            "python3 -m sglang.launch_server --model-path x/y --context-length 4096");
  EXPECT_EQ(read.base.freed.size(), 4u);
  EXPECT_FALSE(read.what.deployment.sglang.enable_dp_attention);
  EXPECT_TRUE(read.base.today->sglang.enable_dp_attention);
}

TEST(BaseCommandTest, Errors) {
  EXPECT_EQ(Base("vllm serve x/y", "m", {"vllm", "sglang"}).error,
            "--engine: expected one beside --from-command, found 2; the command starts one engine: "
            "search the other one without it");
  EXPECT_THAT(Base("vllm serve x/y --no-such-flag 1").error, HasSubstr("--no-such-flag"));
  EXPECT_THAT(Base("ls").error, HasSubstr("--from-command"));
}

}  // namespace
}  // namespace shardplan::cli
