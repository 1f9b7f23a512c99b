#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/run_program.h"

namespace shardplan::cli {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::json;
using testing_support::CliData;
using testing_support::Outcome;
using testing_support::RunProgram;
using testing_support::RunScript;
using testing_support::TempDir;

TEST(PlanCommandTest, TheExitCodeIsTheVerdict) {
  Outcome outcome = RunProgram("plan tiny-dense --gpu a10-24 --tp 2");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(outcome.out, HasSubstr("\nfits: "));
  outcome = RunProgram("plan tiny-dense --gpu a10-24 --require-concurrency 65000");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(outcome.out, HasSubstr("\ndoes not fit: "));
  outcome = RunProgram("plan tiny-dense --gpu a10-24 --tp 3");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(outcome.out, HasSubstr("\nillegal layout: "));
}

TEST(PlanCommandTest, Formats) {
  const Outcome json = RunProgram("plan tiny-dense --gpu a10-24 --tp 2 --format json");
  EXPECT_EQ(json.code, 0);
  const Json d = Json::parse(json.out);
  EXPECT_EQ(d["schema_version"], 1);
  EXPECT_EQ(d["verdict"], "fits");
  EXPECT_EQ(d["model"]["tensors"], 39);
  EXPECT_EQ(d["ranks"].size(), 2U);
  const Outcome yaml = RunProgram("plan tiny-dense --gpu a10-24 --tp 2 --format=yaml");
  EXPECT_THAT(yaml.out, StartsWith("schema_version: 1\nverdict: \"fits\"\n"));
  const Outcome other = RunProgram("plan tiny-dense --gpu a10-24 --format xml");
  EXPECT_EQ(other.code, 2);
  EXPECT_EQ(other.err, "shardplan: error: --format xml: expected table, json or yaml\n");
}

TEST(PlanCommandTest, AConfigADirectoryAndAPathWithASpace) {
  const TempDir dir;
  std::filesystem::create_directories(dir.Path("my model"));
  std::filesystem::copy_file(CliData() + "/tiny-dense/config.json",
                             dir.Path("my model/config.json"));
  for (const char* model : {"'my model'", "'my model/config.json'", "'./my model/'"}) {
    const Outcome outcome =
        RunScript(std::string("shardplan plan ") + model + " --gpu a10-24", dir.path());
    EXPECT_EQ(outcome.code, 0) << model << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("vllm serve '")) << model;
  }
}

TEST(PlanCommandTest, NamesOfModelsMayBeNamesOfCommands) {
  const TempDir dir;
  std::filesystem::create_directories(dir.Path("explain"));
  std::filesystem::copy_file(CliData() + "/tiny-dense/config.json",
                             dir.Path("explain/config.json"));
  EXPECT_EQ(RunScript("shardplan plan explain --gpu a10-24", dir.path()).code, 0);
}

TEST(PlanCommandTest, WrongCardsAreToldBeforeTheModelIsRead) {
  Outcome outcome = RunProgram("plan nowhere");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, StartsWith("shardplan: error: --gpu: expected the card to plan for, "
                                      "found none; give one of a10-24, "));
  EXPECT_THAT(outcome.err, HasSubstr(", h20-96, "));
  outcome = RunProgram("plan nowhere --gpu h20-97");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("did you mean h20-96"));
}

TEST(PlanCommandTest, BadInput) {
  const TempDir dir;
  Outcome outcome = RunProgram("plan nowhere --gpu a10-24");
  EXPECT_EQ(outcome.code, 4);
  EXPECT_EQ(outcome.err, "shardplan: error: nowhere: cannot open: No such file or directory\n");
  dir.Write("config.json", "[1]");
  outcome = RunScript("shardplan plan . --gpu a10-24", dir.path());
  EXPECT_EQ(outcome.code, 3);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  outcome = RunProgram("plan tiny-dense --gpu a10-24 --engine sglang@0.3.6");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_EQ(outcome.err, "shardplan: error: sglang@0.3.6: rules reach from 0.4.0 to 0.5.21\n");
}

TEST(PlanCommandTest, OverridesTheCatalogue) {
  const TempDir dir;
  std::string card = testing_support::ReadText(SHARDPLAN_SOURCE "/configs/gpus/a10-24.yaml");
  const std::string id = "id: a10-24";
  card.replace(card.find(id), id.size(), "id: mine-24");
  card.replace(card.find("aliases:"),
               card.find('\n', card.find("aliases:")) - card.find("aliases:"), "aliases: [mine]");
  dir.Write("gpus/mine-24.yaml", card);
  const Outcome outcome =
      RunProgram("plan tiny-dense --gpu mine-24 --configs '" + dir.path() + "'");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(RunProgram("plan tiny-dense --gpu a10-24 --configs /nowhere").code, 4);
}

}  // namespace
}  // namespace shardplan::cli
