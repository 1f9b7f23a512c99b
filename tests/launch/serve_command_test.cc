#include "launch/serve_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shardplan {
namespace {

// "A=b; words" of the command found.
std::string Found(std::string_view text) {
  const auto command = FindServeCommand(text);
  if (!command) return "error: " + command.error().ToString();
  std::string out;
  for (const auto& [name, value] : command->env) out += name + "=" + value.text + "; ";
  for (const ShellWord& word : command->words) out += word.text + " ";
  return out;
}

TEST(ServeCommandTest, WaysToStartIt) {
  EXPECT_EQ(Found("vllm serve m -tp 8"), "m -tp 8 ");
  EXPECT_EQ(Found("/opt/venv/bin/vllm serve m"), "m ");
  EXPECT_EQ(Found("python3 -m vllm.entrypoints.openai.api_server --model m"), "--model m ");
  EXPECT_EQ(Found("python -m vllm.entrypoints.cli.main serve m"), "m ");
  EXPECT_EQ(Found("$ nohup numactl --cpunodebind=0 vllm serve m"), "m ");
  EXPECT_EQ(Found("nohup vllm serve m -tp 8 > vllm.log 2>&1 &"), "m -tp 8 ");
  EXPECT_EQ(Found("vllm serve m -tp 8 2>&1 | tee -a vllm.log"), "m -tp 8 ");
  EXPECT_EQ(Found("bash -lc 'A=1 vllm serve \"m n\" --x'"), "A=1; m n --x ");
}

TEST(ServeCommandTest, Environment) {
  EXPECT_EQ(Found("A=1 B='2 3' vllm serve m"), "A=1; B=2 3; m ");
  EXPECT_EQ(Found("export A=1 B=2\nset -e\ncd /x && env -u C D=4 vllm serve m"),
            "A=1; B=2; D=4; m ");
  EXPECT_EQ(Found("A=1\nA=2 vllm serve m"), "A=1; A=2; m ");
}

TEST(ServeCommandTest, WhatOnlyLooksLikeAnAssignmentIsNone) {
  EXPECT_EQ(Found("mpirun X=1 vllm serve m Y=2"), "m Y=2 ");
  EXPECT_EQ(Found("A=1 sudo B=2 mpirun C=3 env D=4 vllm serve m"), "A=1; B=2; D=4; m ");
}

TEST(ServeCommandTest, Docker) {
  EXPECT_EQ(Found("docker run --gpus all -e A=1 --env B=2 --env=C=3 -eD=4 -e HF_TOKEN -v /m:/m "
                  "--ipc=host vllm/vllm-openai:v0.31.0 --model m -tp 8"),
            "A=1; B=2; C=3; D=4; --model m -tp 8 ");
  EXPECT_EQ(Found("docker run --rm my/image vllm serve m"), "m ");
  EXPECT_EQ(Found("docker run registry/x/vllm-openai@sha256:00 m"), "m ");
}

// "engine image tag" of the command found.
std::string Program(std::string_view text) {
  const auto command = FindServeCommand(text);
  if (!command) return "error: " + command.error().ToString();
  return command->engine + " " + command->image + " " + command->image_tag;
}

TEST(ServeCommandTest, Sglang) {
  EXPECT_EQ(Found("A=1 python3 -m sglang.launch_server --model-path m --tp-size 8"),
            "A=1; --model-path m --tp-size 8 ");
  EXPECT_EQ(Found("/venv/bin/sglang serve m --tp-size 8"), "m --tp-size 8 ");
  EXPECT_TRUE(FindServeCommand("sglang serve m")->model_first);
  EXPECT_FALSE(FindServeCommand("python -m sglang.launch_server m")->model_first);
  EXPECT_EQ(Found("docker run -e A=1 lmsysorg/sglang:v0.5.17 bash -c 'B=2 python3 -m "
                  "sglang.launch_server --model-path m'"),
            "A=1; B=2; --model-path m ");
  EXPECT_EQ(Found("docker run lmsysorg/sglang:latest --model-path m").substr(0, 6), "error:");
}

TEST(ServeCommandTest, TheEngineAndItsImage) {
  EXPECT_EQ(Program("vllm serve m"), "vllm  ");
  EXPECT_EQ(Program("docker run vllm/vllm-openai:v0.31.0 m"), "vllm vllm-openai v0.31.0");
  EXPECT_EQ(Program("docker run vllm/vllm-openai-rocm@sha256:00 m"), "vllm vllm-openai-rocm ");
  const std::string rest = " python3 -m sglang.launch_server --model-path m";
  EXPECT_EQ(Program(rest), "sglang  ");
  EXPECT_EQ(Program("docker run -v /data/sglang:ro lmsysorg/sglang:v0.5.17-cu130" + rest),
            "sglang sglang v0.5.17-cu130");
  EXPECT_EQ(
      Program("docker run here.io:5000/lmsysorg/sglang:v0.5.17@sha256:00 bash -c '" + rest + "'"),
      "sglang sglang v0.5.17");
  EXPECT_EQ(Program("docker run lmsysorg/sglang:dev sglang serve m"), "sglang sglang dev");
}

// As docker reads it: the image's own program does not run.
TEST(ServeCommandTest, AnEntrypointReplacesTheImagesProgram) {
  const std::string run = "docker run --gpus all --name serve -e A=1 --entrypoint ";
  EXPECT_EQ(Found(run + "vllm vllm/vllm-openai:v0.31.0 serve m -tp 8"), "A=1; m -tp 8 ");
  EXPECT_EQ(Program(run + "vllm vllm/vllm-openai:v0.31.0 serve m"), "vllm vllm-openai v0.31.0");
  EXPECT_EQ(Found("docker run --entrypoint=/usr/bin/vllm here.io/own:1 serve m"), "m ");
  EXPECT_EQ(Found(run + "sglang lmsysorg/sglang:v0.5.17 serve m --tp 8"), "A=1; m --tp 8 ");
  EXPECT_EQ(Found(run + "python3 lmsysorg/sglang:v0.5.17 -m sglang.launch_server --model-path m"),
            "A=1; --model-path m ");
  EXPECT_EQ(Found(run + "bash vllm/vllm-openai:v0.31.0 -c 'B=2 vllm serve m'"), "A=1; B=2; m ");
  EXPECT_EQ(Found(run + "nvidia-smi vllm/vllm-openai:v0.31.0 -L").substr(0, 6), "error:");
}

// What head.sh --dry-run prints.
TEST(ServeCommandTest, RaysClusterIsNoProgramOfItsOwn) {
  EXPECT_EQ(Found("NCCL_IB_HCA=mlx5_0 ray start --head --port=6379 --num-gpus=8\n"
                  "A=1 vllm serve m -tp 8 --distributed-executor-backend ray\n"),
            "A=1; m -tp 8 --distributed-executor-backend ray ");
  EXPECT_EQ(Found("ray job submit; vllm serve m").substr(0, 6), "error:");
  EXPECT_EQ(Found("ray start --head").substr(0, 6), "error:");
}

TEST(ServeCommandTest, ImagesAreKeptWhole) {
  const auto found =
      FindServeCommand("docker run here.io:5000/vllm/vllm-openai:v1-cu129@sha256:0 m");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->image_whole, "here.io:5000/vllm/vllm-openai:v1-cu129");
  EXPECT_EQ(found->image_digest, "sha256:0");
  EXPECT_EQ(FindServeCommand("docker run $HUB/vllm-openai:v1 m")->image_whole, "");
  EXPECT_EQ(TagOf("here.io:5000/vllm/vllm-openai"), "");
  EXPECT_EQ(CudaOfTag(TagOf("here.io:5000/a/b:v1-cu129-x@sha256:0")), "12.9");
  EXPECT_EQ(CudaOfTag("v0.31.0"), "");
}

TEST(ServeCommandTest, WhatIsNoCommandIsRefused) {
  const std::string none =
      "error: command: expected `vllm serve MODEL …` or `python3 -m sglang.launch_server …`, found "
      "no such command; `python -m vllm.entrypoints.openai.api_server`, `sglang serve` and images "
      "named vllm-openai are understood as well";
  EXPECT_EQ(Found(""), none);
  EXPECT_EQ(Found("# vllm serve m"), none);
  EXPECT_EQ(Found("export A=1"), none);
  EXPECT_EQ(Found("vllm bench serve m"),
            "error: command: expected `vllm serve` or `sglang.launch_server`, found vllm; give the "
            "command that serves, and "
            "assignments before it");
  EXPECT_EQ(Found("pip install vllm; vllm serve m"),
            "error: command: expected `vllm serve` or `sglang.launch_server`, found pip; give the "
            "command that serves, and "
            "assignments before it");
  EXPECT_EQ(Found("vllm serve m\nvllm serve n"),
            "error: command: expected one command that serves, found two");
  for (const char* broken : {"vllm serve m\n  -tp 2", "vllm serve m \\ \n  -tp 2"}) {
    EXPECT_EQ(Found(broken),
              "error: command: expected a command, found the option -tp at the start of a line; a "
              "line that goes on ends in a backslash, with no blank behind it");
  }
  EXPECT_EQ(Found("vllm serve m < prompts"),
            "error: command: holds a shell's '<' outside quotes; leave it out, and quote "
            "placeholders");
  EXPECT_EQ(Found("bash -c \"bash -c 'bash -c x'\""),
            "error: command: expected `vllm serve` or `sglang.launch_server`, found bash; give the "
            "command that serves, and "
            "assignments before it");
}

}  // namespace
}  // namespace shardplan
