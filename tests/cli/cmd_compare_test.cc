#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/run_program.h"
#include "report/text.h"

namespace shardplan::cli {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using Json = nlohmann::json;
using testing_support::CliData;
using testing_support::Outcome;
using testing_support::RunProgram;
using testing_support::RunScript;
using testing_support::TempDir;

constexpr char kWhat[] = "compare tiny-dense --gpu a10-24 ";

// A variant is the plan that its options make.
TEST(CompareCommandTest, VariantsAreThePlans) {
  const Outcome outcome = RunProgram(std::string(kWhat) +
                                     "--pp 2 --format json --vary tensor-parallel-size=1,2 "
                                     "--vary max-num-batched-tokens=2048,8192");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const Json d = Json::parse(outcome.out);
  EXPECT_EQ(d["schema_version"], 1);
  ASSERT_EQ(d["plans"].size(), 4U);
  for (size_t i = 0; i < 4; ++i) {
    const std::string tp = i < 2 ? "1" : "2";
    const std::string tokens = i % 2 == 0 ? "2048" : "8192";
    Json plan = d["plans"][i];
    EXPECT_EQ(plan["variant"],
              (Json{{"tensor-parallel-size", tp}, {"max-num-batched-tokens", tokens}}));
    plan.erase("variant");
    const Outcome one = RunProgram("plan tiny-dense --gpu a10-24 --pp 2 --format json --tp " + tp +
                                   " --max-num-batched-tokens " + tokens);
    EXPECT_EQ(plan, Json::parse(one.out)) << i;
  }
}

TEST(CompareCommandTest, Engines) {
  const Outcome outcome =
      RunProgram(std::string(kWhat) + "--engine vllm@0.28.0 --engine vllm@0.31.0 --format json");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const Json d = Json::parse(outcome.out);
  ASSERT_EQ(d["plans"].size(), 2U);
  EXPECT_EQ(d["plans"][0]["engine"]["version"], "0.28.0");
  EXPECT_EQ(d["plans"][0]["variant"], (Json{{"engine", "vllm@0.28.0"}}));
  EXPECT_EQ(d["plans"][1]["engine"]["version"], "0.31.0");
  // One engine and another axis.
  const Outcome one =
      RunProgram(std::string(kWhat) + "--engine vllm@0.28.0 --vary tp=1,2 --format json");
  EXPECT_EQ(Json::parse(one.out)["plans"][1]["engine"]["version"], "0.28.0");
}

TEST(CompareCommandTest, TheExitCodeIsOfAllVariants) {
  EXPECT_EQ(RunProgram(std::string(kWhat) + "--vary tp=1,2").code, 0);
  Outcome outcome = RunProgram(std::string(kWhat) + "--vary tp=2,3");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(outcome.out, HasSubstr("\n1 of 2 variants fits: 1"));
  outcome = RunProgram(std::string(kWhat) + "--vary require-concurrency=1,65000");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("\n  2  does not fit: kv_cache on rank 0 is short by "));
}

// What varies may decide which card is looked up and how the model is read.
TEST(CompareCommandTest, CardsAndAssumptionsVary) {
  const Outcome outcome = RunProgram(
      "compare tiny-dense --vary gpu=a10-24,l4-24 --vary assume=inv_freq=32,mtp=false "
      "--format json");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const Json d = Json::parse(outcome.out);
  ASSERT_EQ(d["plans"].size(), 4U);
  EXPECT_EQ(d["plans"][0]["cluster"]["gpu"], "a10-24");
  EXPECT_EQ(d["plans"][3]["cluster"]["gpu"], "l4-24");
  EXPECT_EQ(d["plans"][0]["model"]["tensors"], 43);
  EXPECT_EQ(d["plans"][1]["model"]["tensors"], 39);
}

TEST(CompareCommandTest, ManyVariantsStayNarrow) {
  // At the engine's default share four communicators of cards without NVLink do not fit beside it.
  const Outcome outcome = RunProgram(std::string(kWhat) +
                                     "--gpu-memory-utilization 0.85 --vary tp=1,2,4,8 "
                                     "--vary pp=1,2,3,4");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(DisplayWidth(line), 100U) << line;
  EXPECT_THAT(outcome.out, HasSubstr("\n  16  fits: "));
}

TEST(CompareCommandTest, UsageErrors) {
  const std::pair<const char*, const char*> cases[] = {
      {"compare --vary tp=1,2",
       "MODEL: expected a model directory or file, found none; it comes right after the command: "
       "shardplan compare MODEL --gpu ID --vary OPTION=A,B"},
      {"compare m --gpu a10-24 --engine vllm",
       "compare: expected several variants, found one deployment; give --vary OPTION=A,B,… or "
       "--engine more than once"},
      {"compare m --gpu a10-24 --vary", "--vary: expected a value, found nothing"},
      {"compare m --gpu a10-24 --vary tensor-paralel-size=1,2",
       "--vary tensor-paralel-size: unknown option; did you mean tensor-parallel-size?"},
      {"compare m --gpu a10-24 --vary colour=always,never",
       "--vary colour: unknown option; every option of `shardplan plan` about the deployment can "
       "vary"},
      {"compare m --gpu a10-24 --tp 2 --vary tp=1,2",
       "--vary tp: --tp is given as well; leave one of them out"},
      {"compare m --gpu a10-24 --vary tp=1,x", "--vary tp=x: expected a whole number, at least 1"},
      {"compare m --gpu a10-24 --engine vllm --engine vllm",
       "--engine vllm: expected different engines, found it twice"},
      {"compare m --gpu a10-24 --engine vllm --vary engine=vllm@0.28.0,vllm",
       "--vary engine: expected once, found twice; list all its values together"},
      {"compare m --gpu a10-24 --tp 2 --tp 4 --vary pp=1,2", "--tp: expected once, found 2 times"},
  };
  for (const auto& [arguments, message] : cases) {
    const Outcome outcome = RunProgram(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments;
    EXPECT_EQ(outcome.out, "") << arguments;
    EXPECT_EQ(outcome.err, std::string("shardplan: error: ") + message + "\n") << arguments;
  }
}

// The same sentences as `plan` has.
TEST(CompareCommandTest, EnginesThatAreNotModelled) {
  const Outcome outcome = RunProgram(std::string(kWhat) + "--engine vllm --engine tgi");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, RunProgram("plan tiny-dense --gpu a10-24 --engine tgi").err);
  const Outcome version = RunProgram(std::string(kWhat) + "--engine vllm --engine vllm@0.1.0");
  EXPECT_EQ(version.code, RunProgram("plan tiny-dense --gpu a10-24 --engine vllm@0.1.0").code);
  EXPECT_EQ(version.err, RunProgram("plan tiny-dense --gpu a10-24 --engine vllm@0.1.0").err);
}

TEST(CompareCommandTest, WrongCardsAreToldBeforeTheModelIsRead) {
  const Outcome outcome = RunProgram("compare nowhere --vary gpu=a10-24,h20-97");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("did you mean h20-96"));
  EXPECT_EQ(RunProgram("compare nowhere --gpu a10-24 --vary tp=1,2").code, 4);
}

TEST(CompareCommandTest, PathsPipesAndFiles) {
  const TempDir dir;
  std::filesystem::create_directories(dir.Path("my model"));
  std::filesystem::copy_file(CliData() + "/tiny-dense/config.json",
                             dir.Path("my model/config.json"));
  const std::string run = "shardplan compare 'my model' --gpu a10-24 --vary tp=1,2";
  const Outcome outcome = RunScript(run + " -o 'my answer'", dir.path());
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(testing_support::ReadText(dir.Path("my answer")), HasSubstr("my model (dense): 2 "));
  const Outcome gone = RunScript("set -o pipefail\n{ sleep 0.2; " + run + "; } | true", dir.path());
  EXPECT_EQ(gone.code, 0);
  EXPECT_EQ(gone.err, "");
  dir.Write("empty/config.json", "");
  const Outcome empty = RunScript("shardplan compare empty --gpu a10-24 --vary tp=1,2", dir.path());
  EXPECT_EQ(empty.code, 3);
  EXPECT_EQ(empty.out, "");
  EXPECT_EQ(std::count(empty.err.begin(), empty.err.end(), '\n'), 1) << empty.err;
}

}  // namespace
}  // namespace shardplan::cli
