#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cli/run_program.h"
#include "report/text.h"
#include "shardplan/launch/shell.h"

namespace shardplan::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::json;
using testing_support::Outcome;
using testing_support::RunProgram;

// The command of a candidate makes the plan that it was told from, whatever else was given.
void ExpectPlansAgree(const std::string& arguments) {
  const Outcome outcome = RunProgram("search " + arguments + " --format json --limit 6");
  ASSERT_EQ(outcome.code, 0) << arguments << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const Json d = Json::parse(outcome.out);
  EXPECT_FALSE(d["candidates"].empty()) << arguments;
  int64_t layouts = d["feasible"];
  for (const Json& rejected : d["rejected"]) layouts += rejected["count"].get<int64_t>();
  EXPECT_EQ(layouts, d["layouts"]) << arguments;
  for (const Json& candidate : d["candidates"]) {
    const auto argv = candidate["argv"].get<std::vector<std::string>>();
    ASSERT_EQ(argv[0], "shardplan");
    std::string line;
    for (size_t i = 1; i < argv.size(); ++i) line += ShellQuote(argv[i]) + " ";
    const Outcome plan = RunProgram(line + "--format json");
    ASSERT_EQ(plan.code, 0) << line << plan.err;
    const Json p = Json::parse(plan.out);
    for (const char* field : {"engine", "layout", "kv_cache", "verdict", "findings"}) {
      EXPECT_EQ(p[field], candidate[field]) << line << field;
    }
  }
}

TEST(SearchCommandTest, ProposesWhatPlanSays) {
  const std::string what = "tiny-moe --gpu a10-24 --gpu-memory-utilization 0.8 ";
  for (const char* more :
       {"--engine vllm --nodes 2", "--engine sglang --nodes 2", "--engine vllm --engine sglang",
        "--vary enable-expert-parallel=true,false --vary enforce-eager=false,true",
        "--vary tp=2,4 --vary enable-prefix-caching=false,true --max-model-len 4K",
        "--pp-partition 2,4 --tp 2 --require-concurrency 3",
        "--vary 'pp-partition=2,4;3,3' --kv-cache-dtype fp8",
        "--engine sglang --vary enable-dp-attention=true,false --dp 2",
        "--cpu-offload-gb 0 --gpus-per-node 2 --no-enable-prefix-caching",
        "--gpu-memory-in-use 2GiB --tp 1 --dp 1"}) {
    ExpectPlansAgree(what + more);
  }
}

TEST(SearchCommandTest, ACluster) {
  ExpectPlansAgree(
      "tiny-moe --cluster cluster.yaml --gpu-memory-utilization 0.8 --engine vllm "
      "--engine sglang");
  const Outcome one = RunProgram("search tiny-moe --cluster cluster.yaml --nodes 1 --format json");
  const Outcome brief =
      RunProgram("search tiny-moe --gpu a10-24 --nodes 1 --gpus-per-node 4 --format json");
  ASSERT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(Json::parse(one.out)["layouts"], Json::parse(brief.out)["layouts"]);
  EXPECT_EQ(Json::parse(one.out)["candidates"][0]["score"],
            Json::parse(brief.out)["candidates"][0]["score"]);
  const Outcome vary = RunProgram("search tiny-moe --cluster cluster.yaml --vary gpu=l4-24");
  EXPECT_EQ(vary.code, 2);
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
                         "max-window, min-gpus, min-offload or min-internode-traffic"));
  EXPECT_THAT(error("tiny-moe --gpu a10-24 --engine vllm --engine vllm"),
              HasSubstr("found it twice"));
  EXPECT_THAT(error("tiny-moe --gpu a10-24 --tp 16"),
              HasSubstr("whole nodes of 1 × 8 cards; give more --nodes"));
  EXPECT_THAT(error("tiny-moe --gpu a10-24 --limit 0"), HasSubstr("at least 1"));
  EXPECT_THAT(error("tiny-moe --gpu a10-24 --limit 1001"), HasSubstr("expected at most 1000"));
  EXPECT_THAT(error("tiny-moe --gpu a10-24 --nodes 65"),
              HasSubstr("expected 1 to 512 cards to search, found 65 × 8"));
  EXPECT_THAT(error("tiny-moe --gpu a10-24 --gpus-per-node 100000"),
              HasSubstr("found 1 × 100,000"));
  EXPECT_THAT(error("tiny-moe --gpu a10-24 --vary nodes=1,2"), HasSubstr("one model, precision"));
  EXPECT_THAT(error("tiny-moe --vary gpu=a10-24,l4-24"), HasSubstr("one model, precision"));
  EXPECT_THAT(error("tiny-moe --gpu a10-24 --max-model-len 100 --output-tokens 200"),
              HasSubstr("--output-tokens"));
}

// What somebody runs: its layout is free, the rest holds, and every proposal can be planned.
TEST(SearchCommandTest, FromACommand) {
  const std::string what = "tiny-moe --gpu a10-24 --gpu-memory-utilization 0.8 ";
  for (const char* command :
       {"vllm serve x -tp 4 -pp 2 --max-model-len 4096 --enable-expert-parallel",
        "VLLM_PP_LAYER_PARTITION=2,4 vllm serve x -pp 2 --max-num-seqs 8 --cpu-offload-gb 1",
        "vllm serve x -tp 4 --nnodes 2 --node-rank 0 --max-model-len 4096",
        "docker run vllm/vllm-openai:v0.30.0 --model x -tp 2 --kv-cache-dtype fp8"}) {
    ExpectPlansAgree(what + "--from-command '" + command + "'");
  }
  ExpectPlansAgree(
      "tiny-moe --gpu a10-24 --from-command 'python3 -m sglang.launch_server --model-path x "
      "--tp 4 --dp 4 --enable-dp-attention --context-length 4096'");
  const Outcome outcome =
      RunProgram("search " + what +
                 "--from-command 'vllm serve x -tp 4 -pp 2 --max-model-len 4096 --max-num-seqs 8'");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("\ntoday: TP4 × PP2"));
  EXPECT_THAT(outcome.out,
              HasSubstr("\nfree in this search, although the command gives them: "
                        "--tensor-parallel-size 4,\n  --pipeline-parallel-size 2; the "));
  const Json d = Json::parse(
      RunProgram("search " + what +
                 "--format json --tp 2 --from-command 'vllm serve x -tp 4 --max-num-seqs 8'")
          .out);
  ASSERT_FALSE(d["candidates"].empty());
  for (const Json& candidate : d["candidates"]) EXPECT_EQ(candidate["layout"]["tp"], 2);
  EXPECT_EQ(d["today"]["layout"]["tp"], 2);
}

// Also with several options that vary.
TEST(SearchCommandTest, FitsAHundredColumns) {
  const Outcome outcome = RunProgram(
      "search tiny-moe --gpu a10-24 --nodes 2 --engine vllm --engine sglang --limit 20 "
      "--vary kv-cache-dtype=auto,fp8 --vary enforce-eager=false,true "
      "--vary enable-prefix-caching=false,true --vary max-num-seqs=8,16");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("  shardplan ") != std::string::npos)
      continue;  // a command is one line, to be pasted
    EXPECT_LE(DisplayWidth(line), 100u) << line;
  }
}

TEST(SearchCommandTest, NothingFitsIsAnAnswer) {
  const Outcome outcome =
      RunProgram("search tiny-moe --gpu a10-24 --gpu-memory-in-use 22GiB --cpu-offload-gb 0");
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("no layout fits"));
}

}  // namespace
}  // namespace shardplan::cli
