#include <gtest/gtest.h>

#include <filesystem>

#include "cli/run_program.h"
#include "shardplan/launch/shell.h"

namespace shardplan::cli {
namespace {

using testing_support::Outcome;
using testing_support::ReadText;
using testing_support::RunProgram;
using testing_support::TempDir;

TEST(LaunchTargetTest, AsksForATarget) {
  const Outcome none = RunProgram("launch");
  EXPECT_EQ(none.code, 2);
  EXPECT_NE(none.err.find("shardplan launch: expected "), std::string::npos) << none.err;
  const Outcome wrong = RunProgram("launch comands m");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("comands: unknown command; did you mean commands?"), std::string::npos)
      << wrong.err;
}

TEST(LaunchTargetTest, WritesADirectoryWithThePlan) {
  const TempDir dir;
  const std::string target = dir.Path("a b");
  const Outcome written =
      RunProgram("launch commands tiny-dense/config.json --gpu h20-96 --tp 1 -o '" + target + "'");
  ASSERT_EQ(written.code, 0) << written.err;
  EXPECT_TRUE(std::filesystem::exists(target + "/node-0.sh"));
  EXPECT_TRUE(ReadText(target + "/plan.json").starts_with("{\n  \"schema_version\": 1"));
  EXPECT_EQ(
      RunProgram("launch commands tiny-dense/config.json --gpu h20-96 --tp 1 -o '" + target + "'")
          .code,
      3);
}

TEST(LaunchTargetTest, WritesNothingOfWhatDoesNotFit) {
  const TempDir dir;
  const std::string target = dir.Path("out");
  const std::string command =
      "launch commands tiny-dense/config.json --gpu l4-24 --gpu-memory-in-use 21GiB -o '" + target +
      "'";
  const Outcome refused = RunProgram(command);
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("nothing is written: does not fit"), std::string::npos) << refused.err;
  EXPECT_FALSE(std::filesystem::exists(target));
  EXPECT_EQ(RunProgram(command + " --force").code, 1);
  EXPECT_TRUE(std::filesystem::exists(target + "/node-0.sh"));
}

TEST(LaunchTargetTest, TheSameInputGivesTheSameBytes) {
  const TempDir dir;
  const std::string command =
      "launch docker tiny-moe/config.json --gpu h20-96 --tp 1 --model-path '/m m' -o ";
  ASSERT_EQ(RunProgram(command + "'" + dir.Path("one") + "'").code, 0);
  ASSERT_EQ(RunProgram(command + "'" + dir.Path("another one") + "'").code, 0);
  for (const char* file : {"node-0.sh", "common.sh", "README.md", "plan.json"}) {
    const std::string one = ReadText(dir.Path("one") + "/" + file);
    EXPECT_EQ(one, ReadText(dir.Path("another one") + "/" + file)) << file;
    EXPECT_EQ(one.find(dir.path()), std::string::npos) << file;
  }
  EXPECT_NE(ReadText(dir.Path("one/README.md"))
                .find("\nshardplan launch docker tiny-moe/config.json --gpu h20-96 --tp 1 "
                      "--model-path '/m m'\n"),
            std::string::npos);
}

TEST(LaunchTargetTest, WritesNoFlagThatTheVersionLacks) {
  const TempDir dir;
  const std::string target = dir.Path("out");
  const std::string command =
      "launch commands tiny-dense/config.json --engine vllm@0.20.0 --gpu h20-96 --from-command "
      "'vllm serve --cohere-format x' -o '" +
      target + "'";
  const Outcome refused = RunProgram(command);
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("nothing is written: launch.flag_too_new: --cohere-format: vLLM "
                             "0.20.0 does not have it: it came with 0.26.0"),
            std::string::npos)
      << refused.err;
  EXPECT_FALSE(std::filesystem::exists(target));
  EXPECT_EQ(RunProgram(command + " --force").code, 1);
  EXPECT_NE(ReadText(target + "/README.md").find("launch.flag_too_new"), std::string::npos);
}

TEST(LaunchTargetTest, SaysWhereTheModelIs) {
  const auto model = [](const std::string& options) {
    const Outcome outcome =
        RunProgram("launch commands tiny-dense/config.json --gpu h20-96 " + options);
    const size_t at = outcome.out.find("MODEL_PATH=");
    return at == std::string::npos ? "" : outcome.out.substr(at, outcome.out.find('\n', at) - at);
  };
  EXPECT_EQ(model("--model-path /a"), "MODEL_PATH=/a");
  EXPECT_EQ(model("--from-command 'vllm serve /b'"), "MODEL_PATH=/b");
  EXPECT_EQ(model("--from-command 'vllm serve org/name'"), "");
  EXPECT_EQ(model(""), "");
  const Outcome absolute =
      RunProgram("launch commands \"$PWD/tiny-dense/config.json\" --gpu h20-96");
  EXPECT_NE(absolute.out.find(
                "MODEL_PATH=" + ShellQuote(testing_support::CliData() + "/tiny-dense") + "\n"),
            std::string::npos);
}

TEST(LaunchTargetTest, KeysAreInNoFile) {
  const std::string start = "launch docker tiny-dense/config.json --gpu h20-96 --model-path /m ";
  const Outcome outcome =
      RunProgram(start +
                 "--from-command 'HF_TOKEN=sekret VLLM_API_KEY=k2sekret vllm serve /m -tp 1 "
                 "--api-key topsekret'");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.find("sekret"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("--api-key REMOVED"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("which no file holds: HF_TOKEN, VLLM_API_KEY, --api-key."),
            std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("need VLLM_API_KEY "), std::string::npos) << outcome.out;
  const Outcome env = RunProgram(start + "--env HF_TOKEN=sekret");
  EXPECT_EQ(env.code, 2);
  EXPECT_EQ(env.err.find("sekret"), std::string::npos) << env.err;
  EXPECT_NE(env.err.find("--env HF_TOKEN: expected no key or token"), std::string::npos) << env.err;
}

TEST(LaunchTargetTest, TheImageIsWhatWasAskedFor) {
  const auto image = [](const std::string& options) {
    const Outcome outcome =
        RunProgram("launch docker tiny-dense/config.json --gpu h20-96 --model-path /m " + options);
    const size_t at = outcome.out.find("--entrypoint ");
    if (at == std::string::npos) return outcome.err;
    return outcome.out.substr(at, outcome.out.find('\n', at) - at);
  };
  EXPECT_EQ(image("--engine vllm@0.20.3"), "--entrypoint vllm vllm/vllm-openai:v0.20.3");
  EXPECT_EQ(image("--from-command 'docker run vllm/vllm-openai:v0.31.0-cu129 --model /m'"),
            "--entrypoint vllm vllm/vllm-openai:v0.31.0-cu129");
}

// Known issues ask for the CUDA of the image that runs.
TEST(LaunchTargetTest, TheImageTellsItsCuda) {
  const std::string command =
      "launch docker tiny-dense/config.json --gpu h20-96 --model-path /m --engine vllm@0.31.0 "
      "--driver 570.195.03";
  const Outcome without = RunProgram(command);
  EXPECT_NE((without.out + without.err).find("CUDA 13 needs a driver"), std::string::npos);
  const Outcome with = RunProgram(command + " --image vllm/vllm-openai:v0.31.0-cu129");
  EXPECT_EQ(with.code, 0) << with.err;
  EXPECT_EQ(with.out.find("CUDA 13 needs a driver"), std::string::npos);
}

// Clients call the model by the word that was served.
TEST(LaunchTargetTest, TheNameStaysWhereTheDirectoryIsAnother) {
  const auto names = [](const std::string& command) {
    const Outcome outcome = RunProgram(
        "launch commands tiny-dense/config.json --gpu h20-96 --model-path /m --from-command '" +
        command + "'");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  };
  EXPECT_NE(names("vllm serve org/tiny").find("--served-model-name org/tiny\n"), std::string::npos);
  EXPECT_NE(names("python3 -m sglang.launch_server --model-path org/tiny")
                .find("--served-model-name org/tiny\n"),
            std::string::npos);
  EXPECT_EQ(names("vllm serve org/tiny --served-model-name a").find("--served-model-name org"),
            std::string::npos);
  EXPECT_EQ(names("vllm serve /m").find("    --served-model-name"), std::string::npos);
}

TEST(LaunchTargetTest, ThePastedCommandSaysWhereProcessesMeet) {
  const Outcome outcome = RunProgram(
      "launch commands tiny-dense/config.json --gpu h20-96 --gpus-per-node 1 --model-path /m "
      "--from-command 'vllm serve /m -pp 2 --nnodes 2 --master-addr 10.1.1.1 --master-port 1234 "
      "--data-parallel-hybrid-lb'");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("MASTER_ADDR=10.1.1.1\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("--master-port 1234\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("launch.load_balancing"), std::string::npos) << outcome.out;
}

TEST(LaunchTargetTest, APastedIpv6AddressIsTakenOver) {
  const Outcome outcome = RunProgram(
      "launch commands tiny-dense/config.json --gpu h20-96 --gpus-per-node 1 --fabric socket "
      "--socket-ifname lo --from-command 'python3 -m sglang.launch_server --model-path /m "
      "--pp-size "
      "2 --nnodes 2 --node-rank 0 --dist-init-addr [fd00::1]:1234'");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("MASTER_ADDR=fd00::1\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("--dist-init-addr \"$MASTER_HOST:1234\"\n"), std::string::npos)
      << outcome.out;
}

TEST(LaunchTargetTest, RefusesPlacesThatCannotBe) {
  const auto code = [](const std::string& options) {
    return RunProgram("launch commands tiny-dense/config.json --gpu h20-96 --model-path /m " +
                      options)
        .code;
  };
  EXPECT_EQ(code("--fabric token-ring"), 2);
  EXPECT_EQ(code("--name 'A b'"), 2);
  EXPECT_EQ(code("--port 99999"), 2);
  EXPECT_EQ(code("--host a --host b"), 2);
  EXPECT_EQ(code("--env DRY_RUN=1"), 2);
  EXPECT_EQ(code("--api-host 'a b'"), 2);
  EXPECT_EQ(code("--fabric socket"), 0);
}

}  // namespace
}  // namespace shardplan::cli
