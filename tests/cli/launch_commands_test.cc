#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/launch_files.h"
#include "cli/run_program.h"
#include "launch/run_bundle.h"
#include "shardplan/launch/shell.h"

namespace shardplan::cli {
namespace {

using testing::HasSubstr;
using testing_support::BundleRun;
using testing_support::BundleWorld;
using testing_support::CliData;
using testing_support::LaunchFiles;
using testing_support::Outcome;
using testing_support::ReadText;
using testing_support::RunProgram;
using testing_support::TempDir;

TEST(LaunchCommandsTest, PrintsWhatItWouldWrite) {
  const Outcome outcome = RunProgram("launch commands tiny-dense/config.json --gpu h20-96 --tp 1");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with("==> node-0.sh <==\n#!/usr/bin/env bash\n")) << outcome.out;
  for (const char* file : {"common.sh", "README.md", "plan.json"}) {
    EXPECT_THAT(outcome.out, HasSubstr(std::string("==> ") + file + " <=="));
  }
  // Nobody said where a relative MODEL is on the node.
  EXPECT_THAT(outcome.out, HasSubstr("need MODEL_PATH "));
}

TEST(LaunchCommandsTest, HostileNamesReachTheEngine) {
  const TempDir dir;
  const std::string model = dir.Path("it's $(touch was-here) `x` \"K3\"\n\xc3\xa9");
  std::filesystem::create_directories(model);
  std::filesystem::copy(CliData() + "/tiny-dense/config.json", model + "/config.json");
  const std::string chat = "two words; $(reboot) 'q'";
  BundleWorld world(LaunchFiles(
      "commands " + ShellQuote(model) + " --gpu h20-96 --from-command " +
      ShellQuote("vllm serve --served-model-name " + ShellQuote(chat) + " --port 9001")));
  world.ExpectParses();
  const BundleRun run = world.Run("node-0.sh");
  ASSERT_EQ(run.code, 0) << run.err;
  ASSERT_EQ(run.calls.size(), 1U);
  const std::vector<std::string>& argv = run.calls[0].argv;
  EXPECT_EQ(argv.at(2), model);
  const auto name = std::find(argv.begin(), argv.end(), "--served-model-name");
  ASSERT_NE(name, argv.end());
  EXPECT_EQ(*(name + 1), chat);
  EXPECT_EQ(argv.back(), "9001");
  EXPECT_FALSE(std::filesystem::exists(world.directory() + "/was-here"));
}

// The plan reads a draft's config here; the engine looks for the draft there.
TEST(LaunchCommandsTest, TheDraftStandsWhereNodesFindIt) {
  const std::string command =
      "launch commands tiny-dense/config.json --gpu h20-96 --tp 1 --speculative-config ";
  const std::string draft = R"({"method":"draft_model","model":"$","num_speculative_tokens":2})";
  const auto with = [&](const std::string& path) {
    std::string text = draft;
    return command + ShellQuote(text.replace(text.find('$'), 1, path));
  };
  const Outcome relative = RunProgram(with("tiny-dense/config.json"));
  EXPECT_EQ(relative.code, 2);
  EXPECT_EQ(relative.err,
            "shardplan: error: draft tiny-dense/config.json: expected where the nodes find it, "
            "found a path from this directory; --draft-path DIR, absolute, or the ORG/NAME that "
            "the engine downloads\n");
  const Outcome told = RunProgram(with("tiny-dense/config.json") + " --draft-path /models/draft");
  ASSERT_EQ(told.code, 0) << told.err;
  EXPECT_THAT(told.out, HasSubstr(R"("model":"/models/draft")"));
  const Outcome here = RunProgram(with(CliData() + "/tiny-dense/config.json"));
  ASSERT_EQ(here.code, 0) << here.err;
  EXPECT_THAT(here.out, HasSubstr("\"model\":\"" + CliData() + "/tiny-dense\""));
}

// What a dry run prints, read back, is the deployment that it was made of.
TEST(LaunchCommandsTest, DryRunsReadBack) {
  for (const std::string engine : {"vllm", "sglang"}) {
    const std::string options =
        "tiny-dense/config.json --gpu h20-96 --nodes 2 --gpus-per-node 1 "
        "--pp 2 --max-model-len 1024 --engine " +
        engine;
    BundleWorld world(LaunchFiles("commands " + options +
                                  " --host 10.0.0.1 --host 10.0.0.2 "
                                  "--socket-ifname lo --ib-hca mlx5_0 --ib-gid-index 3"));
    const BundleRun run = world.Run("node-0.sh", {"--dry-run"}, {{"MODEL_PATH", "/models/tiny"}});
    ASSERT_EQ(run.code, 0) << run.err;
    EXPECT_EQ(run.err, "");
    const Outcome first = RunProgram("plan " + options + " --format json");
    const Outcome second = RunProgram(
        "plan tiny-dense/config.json --gpu h20-96 --gpus-per-node 1 "
        "--format json --from-command " +
        ShellQuote(run.out));
    ASSERT_EQ(second.code, 0) << second.err;
    auto a = nlohmann::json::parse(first.out);
    auto b = nlohmann::json::parse(second.out);
    for (const char* key : {"layout", "ranks", "kv_cache", "window", "verdict"}) {
      EXPECT_EQ(a[key], b[key]) << engine << " " << key;
    }
  }
}

TEST(LaunchCommandsTest, NodesAskForTheirNetwork) {
  BundleWorld world(LaunchFiles(
      "commands tiny-dense/config.json --gpu h20-96 --gpus-per-node 1 --pp 2 --model-path /m"));
  const BundleRun run = world.Run("node-1.sh");
  EXPECT_EQ(run.code, 1);
  EXPECT_EQ(run.err,
            "node-1.sh: MASTER_ADDR is not set: address of node 0 on the network of the ranks, "
            "such as 10.0.0.1\n");
}

}  // namespace
}  // namespace shardplan::cli
