#include "cli/calibration_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/run_program.h"
#include "shardplan/base/units.h"

namespace shardplan::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::json;
using testing_support::CliData;
using testing_support::Outcome;
using testing_support::RunProgram;
using testing_support::RunScript;
using testing_support::TempDir;

constexpr char kGood[] = R"(# what the log said
runs:
  - name: eager
    model: kimi-k3
    deployment:
      gpu: h20-96
      engine: vllm@0.31.0
      tp: 8
      pipeline-parallel-size: 2
      pp-partition: [48, 45]
      max-model-len: 512K
      enforce-eager: true
      cpu-offload-params: w13_weight,w2_weight
    stage: 1
    measured:
      weights: 65.55 GiB
      graph_reserve: 0.61GiB
      kv_tokens: 1,234,955
  - model: KimiK3ForConditionalGeneration
    deployment: {gpu: h20-96, engine: "vllm@0.31.0"}
    measured: {num_blocks: 1630}
)";

TEST(CalibrationFileTest, ReadsRuns) {
  const TempDir dir;
  const std::string path = dir.Write("runs.yaml", kGood);
  const auto calibration = ReadCalibration(path);
  ASSERT_TRUE(calibration.has_value()) << calibration.error().ToString();
  EXPECT_EQ((*calibration)->file, path);
  ASSERT_EQ((*calibration)->runs.size(), 2U);
  const CalibrationRun& run = (*calibration)->runs[0];
  EXPECT_EQ(run.name, "eager");
  EXPECT_EQ(run.model, "kimi-k3");
  EXPECT_EQ(run.deployment.gpu, "h20-96");
  EXPECT_EQ(run.deployment.engine_version, "0.31.0");
  EXPECT_EQ(run.deployment.sizes.tp, 8);
  EXPECT_EQ(run.deployment.sizes.pp, 2);
  EXPECT_THAT(*run.deployment.partition, ElementsAre(48, 45));
  EXPECT_EQ(run.deployment.settings.max_model_len, 524'288);
  EXPECT_TRUE(run.deployment.settings.enforce_eager);
  EXPECT_THAT(run.deployment.settings.cpu_offload_params, ElementsAre("w13_weight", "w2_weight"));
  EXPECT_EQ(run.stage, 1);
  // Half of the last digit.
  EXPECT_EQ(run.weights->central, Bytes(70383776563));
  EXPECT_NEAR(static_cast<double>((run.weights->high - run.weights->low).count()),
              0.01 * static_cast<double>(kGiB), 4);
  EXPECT_NEAR(static_cast<double>((run.graph_reserve->high - run.graph_reserve->low).count()),
              0.01 * static_cast<double>(kGiB), 4);
  EXPECT_FALSE(run.activation_peak.has_value());
  EXPECT_EQ(run.kv_tokens, 1'234'955);
  EXPECT_EQ((*calibration)->runs[1].name, "run 2");
  EXPECT_EQ((*calibration)->runs[1].num_blocks, 1630);
}

std::string Replaced(const std::string& from, const std::string& to) {
  std::string text = kGood;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(CalibrationFileTest, MalformedFiles) {
  const TempDir dir;
  const std::pair<std::string, std::string> cases[] = {
      {"", "expected the file to be a mapping"},
      {"[1]", "line 1: expected the file to be a mapping"},
      {"runs: 1", "line 1: expected runs, a list of at least one"},
      {"runs: []", "line 1: expected runs, a list of at least one"},
      {"run: []", "line 1: unknown key run; did you mean runs?"},
      {"runs: [", "line 1: "},
      {"a: &a [*a]", "line 1: "},
      {"runs: [1]", "line 1: run 1: expected a run to be a mapping"},
      {"runs: [{}]", "line 1: run 1: expected model, a family or the architecture of config.json"},
      {Replaced("stage: 1", "stgae: 1"), "line 14: run 1: unknown key stgae; did you mean stage?"},
      {Replaced("stage: 1", "stage: first"),
       "line 14: run 1: stage: expected a whole number, at least 0, found first"},
      {Replaced("    stage: 1\n", ""),
       "line 3: run 1: expected stage: the figures are of one rank, and stages differ; stage: 0 is "
       "the first"},
      {Replaced("weights:", "weight:"),
       "line 16: run 1: unknown key weight; did you mean weights?"},
      {Replaced("65.55 GiB", "65.55"),
       "line 16: run 1: weights 65.55: the byte size has no unit; write a number and a unit, such "
       "as 32GiB or 32GB"},
      {Replaced("65.55 GiB", "{}"), "line 16: run 1: expected weights to be a value"},
      {Replaced("1,234,955", "many"),
       "line 18: run 1: kv_tokens: expected a whole number, at least 1, found many"},
      {Replaced("kv_tokens: 1,234,955", "num_blocks: 0"),
       "line 18: run 1: num_blocks: expected a whole number, at least 1, found 0"},
      {Replaced("graph_reserve: 0.61GiB", "num_blocks: 1630"),
       "line 16: run 1: expected one of available_kv, num_blocks and kv_tokens, found several; "
       "they are the same figure: give the one with most digits"},
      {Replaced("measured: {num_blocks: 1630}", "measured: {}"),
       "line 21: run 2: expected a figure: one of num_blocks, kv_tokens, weights, activation_peak, "
       "non_torch_growth, graph_reserve, baseline, available_kv"},
      {Replaced("    measured: {num_blocks: 1630}\n", ""),
       "line 19: run 2: expected measured, what the run's log printed"},
      {Replaced("      gpu: h20-96\n", ""),
       "line 6: run 1: expected gpu, the id of the card it ran on"},
      {Replaced("vllm@0.31.0", "vllm"),
       "line 6: run 1: expected engine with its version, such as vllm@0.31.0"},
      {Replaced("enforce-eager: true", "enforce-eager: yes"),
       "line 12: run 1: enforce-eager yes: expected true or false"},
      {Replaced("tp: 8", "tp: 0"), "line 8: run 1: tp 0: expected a whole number, at least 1"},
      {Replaced("tp: 8", "tpp: 8"), "line 8: run 1: deployment has no option tpp; did you mean "},
      {Replaced("tp: 8", "calibration: runs.yaml"),
       "line 8: run 1: deployment has no option calibration"},
      {Replaced("tp: 8", "cluster: c.yaml"), "line 8: run 1: deployment has no option cluster"},
      {Replaced("tp: 8", "gpu: h20-96"), "line 8: run 1: expected gpu once"},
  };
  for (const auto& [text, message] : cases) {
    const std::string path = dir.Write("runs.yaml", text);
    const auto calibration = ReadCalibration(path);
    ASSERT_FALSE(calibration.has_value()) << text;
    EXPECT_EQ(calibration.error().code, ErrorCode::kInvalidInput);
    EXPECT_THAT(calibration.error().ToString(), StartsWith(path + ": " + message)) << text;
    EXPECT_EQ(calibration.error().ToString().find('\n'), std::string::npos);
  }
  EXPECT_EQ(ReadCalibration(dir.Path("none")).error().code, ErrorCode::kIo);
  EXPECT_EQ(ReadCalibration(dir.path()).error().code, ErrorCode::kInvalidInput);
}

TEST(CalibrationFileTest, DeepNestingIsNoCrash) {
  const TempDir dir;
  const std::string path = dir.Write("runs.yaml", std::string(100'000, '['));
  EXPECT_EQ(ReadCalibration(path).error().code, ErrorCode::kInvalidInput);
}

// A plan, its variants, its sweep and its explanation all know it.
TEST(CalibrationCommandTest, EveryCommandKnowsIt) {
  const std::string what =
      "tiny-moe --gpu a10-24 --tp 2 --max-model-len 4K --max-num-seqs 8 --calibration runs.yaml ";
  const Json plan = Json::parse(RunProgram("plan --format json " + what).out);
  EXPECT_EQ(plan["kv_cache"]["num_blocks"], 420'000);
  const Json compared = Json::parse(RunProgram("compare --format json --vary pp=1,2 " + what).out);
  EXPECT_EQ(compared["plans"][0]["kv_cache"], plan["kv_cache"]);
  const Json swept =
      Json::parse(RunProgram("plan --format json --sweep typical-tokens=1K " + what).out);
  EXPECT_EQ(swept["cells"][0]["kv_cache"]["num_blocks"], 420'000);
  const Outcome explained = RunProgram("explain --account communication " + what);
  EXPECT_THAT(explained.out, HasSubstr("measured beyond what is derived"));
  EXPECT_THAT(explained.out, HasSubstr("measured: runs.yaml, a start of mine"));
}

TEST(CalibrationCommandTest, BadFilesAreOneLine) {
  const TempDir dir;
  dir.Write("runs.yaml", "runs: 1\n");
  Outcome outcome = RunScript("shardplan plan m --gpu a10-24 --calibration runs.yaml", dir.path());
  EXPECT_EQ(outcome.code, 3);
  EXPECT_EQ(outcome.err,
            "shardplan: error: --calibration runs.yaml: line 1: expected runs, a list of at least "
            "one\n");
  outcome = RunScript("shardplan plan m --gpu a10-24 --calibration nowhere", dir.path());
  EXPECT_EQ(outcome.code, 4);
  EXPECT_THAT(outcome.err, StartsWith("shardplan: error: --calibration nowhere: cannot open"));
}

}  // namespace
}  // namespace shardplan::cli
