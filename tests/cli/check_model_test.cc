#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/run_program.h"
#include "support/checkpoint_builder.h"

namespace shardplan::cli {
namespace {

using testing_support::Outcome;
using testing_support::RunProgram;
using testing_support::RunScript;
using testing_support::TempDir;

TEST(CheckModelTest, AsksForADirectory) {
  const Outcome none = RunProgram("check model");
  EXPECT_EQ(none.code, 2);
  EXPECT_NE(none.err.find("shardplan check model DIR"), std::string::npos) << none.err;
  EXPECT_EQ(RunProgram("check model /no/such/place").code, 4);
  EXPECT_EQ(RunProgram("check model tiny-moe/config.json").code, 2);
}

TEST(CheckModelTest, AnErrorIsANo) {
  const TempDir dir;
  dir.Write("model.safetensors", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n");
  const Outcome outcome = RunProgram("check model '" + dir.path() + "'");
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_NE(outcome.out.find("error model.lfs_pointer: "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("\n2 errors, 1 warning: "), std::string::npos) << outcome.out;
}

TEST(CheckModelTest, CleanAsATableAndAsADocument) {
  const TempDir dir;
  ASSERT_EQ(RunScript("shardplan standin '" + testing_support::CliData() +
                          "/tiny-moe/config.json' m >/dev/null && touch m/tokenizer.model && "
                          "echo '{}' > m/tokenizer_config.json",
                      dir.path())
                .code,
            0);
  const Outcome table = RunScript("shardplan check model m", dir.path());
  EXPECT_EQ(table.code, 0) << table.out;
  EXPECT_NE(table.out.find("clean: "), std::string::npos) << table.out;
  const Outcome document = RunScript("shardplan check model m --format json", dir.path());
  const auto json = nlohmann::json::parse(document.out);
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["clean"], true);
  EXPECT_TRUE(json["findings"].is_array());
}

// A download that stopped half way, with the index of the whole (missing-coser3).
TEST(CheckModelTest, HalfOfTheShardsAreMissing) {
  const TempDir dir;
  testing_support::CheckpointBuilder model(dir.Path("m"));
  for (int i = 1; i <= 30; ++i) {
    const std::string tensor = "model.layers." + std::to_string(i) + ".weight";
    const std::string shard = testing_support::CheckpointBuilder::ShardName(i, 30);
    if (i <= 15) {
      model.Shard(shard, {{tensor}});
    } else {
      model.List(tensor, shard);
    }
  }
  model.Index().Config();
  const Outcome outcome = RunProgram("check model '" + dir.Path("m") + "' --format json");
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  std::string message;
  for (const auto& finding : json["findings"]) {
    if (finding["id"] == "model.shard_missing") message = finding["message"];
  }
  EXPECT_EQ(message,
            "15 of 30 shards are not there: model-00016-of-00030.safetensors to "
            "model-00030-of-00030.safetensors");
}

TEST(CheckModelTest, StagesNeedALayout) {
  const auto error = [](const std::string& options) {
    const Outcome outcome = RunProgram("check model tiny-moe " + options);
    EXPECT_EQ(outcome.code, 2) << options;
    return outcome.err;
  };
  EXPECT_NE(error("--stage 0").find("--stage: expected the layout as well"), std::string::npos);
  EXPECT_NE(error("--pp 2").find("--pp: expected the stage that is here"), std::string::npos);
  EXPECT_NE(error("--pp-partition 1,1").find("--pp-partition: expected the stage"),
            std::string::npos);
  EXPECT_NE(error("--stage-index x --stage 0 --pp 2").find("--stage-index: expected it alone"),
            std::string::npos);
  EXPECT_NE(error("--stage one --pp 2").find("expected a whole number"), std::string::npos);
}

}  // namespace
}  // namespace shardplan::cli
