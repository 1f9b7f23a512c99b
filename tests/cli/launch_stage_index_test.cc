#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

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
  for (const auto& [stage, files] : {std::pair{"0", 51U}, std::pair{"1", 48U}}) {
    const std::string part = dir.Path(std::string("cut/stage-") + stage);
    const json manifest = json::parse(ReadText(part + "/manifest.json"));
    EXPECT_EQ(manifest["files"].size(), files);
    EXPECT_EQ(manifest["source"]["tensors"], 497'220);
    const json index = json::parse(ReadText(part + "/model.safetensors.index.json"));
    EXPECT_EQ(index["weight_map"].size(), manifest["tensors"]);
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
    const std::string check =
        "shardplan check model '" + node + "' --pp-partition 48,45 --stage " + stage;
    EXPECT_EQ(RunScript(check, dir.path()).code, 0) << RunScript(check, dir.path()).out;
    const std::string by_index =
        "shardplan check model '" + node + "' --stage-index cut/stage-" + stage;
    EXPECT_EQ(RunScript(by_index, dir.path()).code, 0) << RunScript(by_index, dir.path()).out;
    EXPECT_EQ(RunScript("shardplan check model '" + node + "'", dir.path()).code, 1);
    fs::remove(node + "/" + manifest["files"][3]["name"].get<std::string>());
    EXPECT_EQ(RunScript(check, dir.path()).code, 1);
    EXPECT_EQ(RunScript(by_index, dir.path()).code, 1);
  }
  const json plan = json::parse(ReadText(dir.Path("cut/plan.json")));
  EXPECT_EQ(plan["files"][0]["shards"].size(), 51U);
  EXPECT_EQ(plan["files"][1]["shards"].size(), 48U);
  EXPECT_GT(tensors, 497'220);  // what is outside the stack is in both
}

}  // namespace
}  // namespace shardplan::cli
