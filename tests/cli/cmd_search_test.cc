#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/run_program.h"

namespace shardplan::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::json;
using testing_support::Outcome;
using testing_support::RunProgram;

// A candidate's options make the plan that it was told from.
TEST(SearchCommandTest, ProposesWhatPlanSays) {
  for (const char* engine : {"vllm", "sglang"}) {
    const std::string what = std::string("tiny-moe --gpu a10-24 --format json --engine ") + engine;
    const Outcome outcome = RunProgram("search " + what + " --nodes 2 --limit 6");
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    const Json d = Json::parse(outcome.out);
    EXPECT_EQ(d["candidates"].size(), 6U);
    for (const Json& candidate : d["candidates"]) {
      std::string options;
      for (const std::string word : candidate["options"]) options += " " + word;
      const Outcome plan = RunProgram("plan " + what + options);
      EXPECT_EQ(plan.code, 0) << options << plan.err;
      const Json p = Json::parse(plan.out);
      EXPECT_EQ(p["layout"], candidate["layout"]) << options;
      EXPECT_EQ(p["kv_cache"], candidate["kv_cache"]) << options;
      EXPECT_EQ(p["findings"], candidate["findings"]) << options;
    }
  }
}

TEST(SearchCommandTest, WhatIsGivenStays) {
  const Outcome outcome = RunProgram(
      "search tiny-moe --gpu a10-24 --format json --limit 50 --tp 2 --vary "
      "pipeline-parallel-size=1,2 --enable-expert-parallel --vary "
      "kv-cache-dtype=auto,fp8");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json d = Json::parse(outcome.out);
  ASSERT_FALSE(d["candidates"].empty());
  bool fp8 = false;
  for (const Json& candidate : d["candidates"]) {
    EXPECT_EQ(candidate["layout"]["tp"], 2);
    EXPECT_LE(candidate["layout"]["pp"], 2);
    EXPECT_GT(candidate["layout"]["ep"], 1);
    fp8 |= candidate["engine_settings"]["kv-cache-dtype"] == "fp8";
  }
  EXPECT_TRUE(fp8);
}

TEST(SearchCommandTest, SeveralEnginesAndObjectives) {
  const Outcome outcome = RunProgram(
      "search tiny-moe --gpu a10-24 --format json --limit 100 --engine vllm --engine sglang "
      "--objective min-gpus,max-concurrency");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json d = Json::parse(outcome.out);
  EXPECT_EQ(d["candidates"][0]["score"]["gpus"], 1);
  bool vllm = false;
  bool sglang = false;
  for (const Json& candidate : d["candidates"]) {
    vllm |= candidate["engine"]["name"] == "vllm";
    sglang |= candidate["engine"]["name"] == "sglang";
  }
  EXPECT_TRUE(vllm && sglang);
}

TEST(SearchCommandTest, Refuses) {
  const auto error = [](const std::string& arguments, int code = 2) {
    const Outcome outcome = RunProgram("search " + arguments);
    EXPECT_EQ(outcome.code, code) << arguments;
    EXPECT_EQ(outcome.out, "");
    return outcome.err;
  };
  EXPECT_THAT(error("--gpu a10-24"), HasSubstr("search MODEL --gpu ID --nodes N"));
  EXPECT_THAT(error("tiny-moe --gpu a10-24 --objective max-speed"),
              StartsWith("shardplan: error: --objective max-speed: expected max-concurrency, "
                         "max-window, min-gpus or min-offload"));
  EXPECT_THAT(error("tiny-moe --gpu a10-24 --limit 0"), HasSubstr("at least 1"));
  EXPECT_THAT(error("tiny-moe --gpu a10-24 --limit 1001"), HasSubstr("expected at most 1000"));
  EXPECT_THAT(error("tiny-moe --gpu a10-24 --nodes 65"), HasSubstr("expected at most 64"));
  EXPECT_THAT(error("tiny-moe --gpu a10-24 --vary nodes=1,2"), HasSubstr("on one cluster"));
  EXPECT_THAT(error("tiny-moe --vary gpu=a10-24,l4-24"), HasSubstr("on one cluster"));
  EXPECT_THAT(error("tiny-moe --gpu a10-24 --max-model-len 100 --output-tokens 200"),
              HasSubstr("--output-tokens"));
}

TEST(SearchCommandTest, NothingFitsIsAnAnswer) {
  const Outcome outcome =
      RunProgram("search tiny-moe --gpu a10-24 --gpu-memory-in-use 22GiB --cpu-offload-gb 0");
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("no layout fits"));
}

}  // namespace
}  // namespace shardplan::cli
