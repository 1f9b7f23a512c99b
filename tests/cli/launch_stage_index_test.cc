#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>

#include "cli/run_program.h"

namespace shardplan::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing_support::Outcome;
using testing_support::ReadText;
using testing_support::RunProgram;
using testing_support::RunScript;
using testing_support::TempDir;

TEST(LaunchStageIndexTest, WantsADirectoryToWrite) {
  const Outcome outcome =
      RunProgram("launch stage-index tiny-moe/config.json --gpu h20-96 --pp 2 --gpus-per-node 1");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("-o: expected a new directory for the files"), std::string::npos)
      << outcome.err;
}

TEST(LaunchStageIndexTest, SaysWhyItRefuses) {
  const TempDir dir;
  const std::string out = " --gpu h20-96 -o '" + dir.Path("out") + "'";
  const Outcome config =
      RunProgram("launch stage-index tiny-moe/config.json --pp 2 --gpus-per-node 1" + out);
  EXPECT_EQ(config.code, 3);
  EXPECT_NE(config.err.find("expected a checkpoint with all its shards"), std::string::npos)
      << config.err;
  EXPECT_EQ(RunProgram("launch stage-index tiny-moe/config.json" + out).code, 2);
  EXPECT_FALSE(fs::exists(dir.Path("out")));
}

// The published deployment, from its config to two nodes that hold their own part.
TEST(LaunchStageIndexTest, KimiK3OnTwoNodes) {
  const TempDir dir;
  const Outcome written = RunScript(
      "shardplan standin '" SHARDPLAN_EXAMPLES
      "/kimi-k3/config.json' k3 >/dev/null && "
      "sha256sum k3/model.safetensors.index.json > before && "
      "shardplan launch stage-index k3 --gpu h20-141 --nodes 2 --tp 8 --pp 2 --pp-partition 48,45 "
      "--max-model-len 32K --max-num-seqs 1 --model-path /models/k3 -o cut && "
      "sha256sum --check --quiet before",
      dir.path());
  ASSERT_TRUE(written.code == 0 || written.code == 1) << written.err;
  ASSERT_TRUE(fs::exists(dir.Path("cut/plan.json"))) << written.err;

  int64_t tensors = 0;
  for (const auto& [stage, files, check] : {std::tuple{"0", 51U, "--pp-partition 48,45 --stage 0"},
                                            std::tuple{"1", 48U, "--stage-index cut/stage-1"}}) {
    const std::string part = dir.Path(std::string("cut/stage-") + stage);
    const json manifest = json::parse(ReadText(part + "/manifest.json"));
    EXPECT_EQ(manifest["files"].size(), files);
    EXPECT_EQ(manifest["source"]["tensors"], 497'220);
    tensors += manifest["tensors"].get<int64_t>();

    // A node with these files, and without one of them.
    const std::string node = dir.MakeDir(std::string("node-") + stage);
    for (const json& file : manifest["files"]) {
      const std::string name = file["name"];
      fs::create_hard_link(dir.Path("k3/" + name), node + "/" + name);
    }
    for (const char* const name : {"config.json", "model.safetensors.index.json"}) {
      fs::copy_file(dir.Path("k3/") + name, node + "/" + name);
    }
    const Outcome clean = RunScript("shardplan check model '" + node + "' " + check, dir.path());
    EXPECT_EQ(clean.code, 0) << clean.out;
    fs::remove(node + "/" + manifest["files"][3]["name"].get<std::string>());
    const Outcome missing = RunScript("shardplan check model '" + node + "' " + check, dir.path());
    EXPECT_EQ(missing.code, 1) << missing.err;
    EXPECT_NE(missing.out.find("1 of "), std::string::npos) << missing.out;
  }
  const json plan = json::parse(ReadText(dir.Path("cut/plan.json")));
  EXPECT_EQ(plan["files"][0]["shards"].size(), 51U);
  EXPECT_EQ(plan["files"][1]["shards"].size(), 48U);
  EXPECT_GT(tensors, 497'220);  // what is outside the stack is in both
}

}  // namespace
}  // namespace shardplan::cli
