#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/run_program.h"
#include "shardplan/launch/shell.h"

namespace shardplan::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;
using testing_support::Outcome;
using testing_support::RunProgram;

Outcome Check(const std::string& command, const std::string& options = "") {
  return RunProgram("check command " + ShellQuote(command) + " " + options);
}

// "severity id subject" of every finding.
std::vector<std::string> Told(const std::string& command, const std::string& options = "") {
  const Outcome outcome = Check(command, options + " --format json");
  const Json document = Json::parse(outcome.out, nullptr, false);
  EXPECT_FALSE(document.is_discarded()) << outcome.out << outcome.err;
  std::vector<std::string> told;
  if (document.is_discarded()) return told;
  EXPECT_EQ(document["schema_version"], 1);
  for (const Json& f : document["findings"]) {
    told.push_back(f["severity"].get<std::string>() + " " + f["id"].get<std::string>() + " " +
                   f["subject"].get<std::string>());
  }
  return told;
}

TEST(CheckCommandTest, EverythingIsToldAtOnce) {
  const auto told = Told(
      "vllm serve org/model -tp 8 --expert-parallel-size 16 --swap-space 4 --cudagraph 1 "
      "--no-such-thing a b --gpu-memory-utilization much --max-loras 4 --max-num-seqs 8 "
      "--max-num-seqs 16 stray --nnodes 2 --cpu-offload-gb $GB");
  EXPECT_THAT(told,
              ::testing::IsSupersetOf(
                  {"error command.flag_never --expert-parallel-size",
                   "error command.flag_removed --swap-space", "error command.ambiguous --cudagraph",
                   "error command.flag_unknown --no-such-thing",
                   "error command.value --gpu-memory-utilization much", "error command.word stray",
                   "warning command.idle --max-loras", "warning command.incomplete --nnodes",
                   "warning command.repeated --max-num-seqs",
                   "warning command.shell_variable --cpu-offload-gb $GB",
                   "note check.not_looked_at MODEL, --gpu", "note check.version --engine"}));
  EXPECT_EQ(Check("vllm serve org/model -tp 8 --swap-space 4").code, 1);
}

// What needs no card is told without one.
TEST(CheckCommandTest, TheCheckpointsQuantizationNeedsNoCard) {
  EXPECT_THAT(Told("vllm serve m --quantization awq", "tiny-dense/config.json"),
              ::testing::Contains("error command.quantization_plain --quantization awq"));
}

TEST(CheckCommandTest, ACleanCommandIsClean) {
  const Outcome outcome =
      Check("vllm serve org/model -tp 8 --max-model-len 64K", "--engine vllm@0.31.0");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("note check.not_looked_at: MODEL, --gpu: "));
  EXPECT_THAT(outcome.out, Not(HasSubstr("check.version")));
}

TEST(CheckCommandTest, WithAModelAndACardThePlanSpeaks) {
  const std::string options = "tiny-moe/config.json --gpu h20-96 --engine vllm@0.31.0";
  const auto told = Told("vllm serve org/model -tp 3", options);
  EXPECT_THAT(told, ::testing::Contains("error layout.heads --tensor-parallel-size 3"));
  const auto fits = Told("vllm serve org/model --max-num-seqs 4", options);
  EXPECT_THAT(fits, ::testing::Contains("note default.kv_cache_dtype --kv-cache-dtype"));
  EXPECT_THAT(fits, Not(::testing::Contains(HasSubstr("check.not_looked_at"))));
  // Values that no start accepts.
  EXPECT_THAT(Told("vllm serve org/model --block-size 7", options),
              ::testing::Contains("error command.refused --block-size 7"));
}

TEST(CheckCommandTest, TheModelOfTheCommandWillDo) {
  const auto told = Told("vllm serve tiny-dense/config.json --max-model-len 1K", "--gpu h20-96");
  EXPECT_THAT(told, Not(::testing::Contains(HasSubstr("check.not_looked_at"))));
  EXPECT_THAT(told, ::testing::Contains("note default.kv_cache_dtype --kv-cache-dtype"));
}

TEST(CheckCommandTest, TheDriverIsAskedFor) {
  const std::string command = "vllm serve org/model";
  EXPECT_THAT(Told(command, "--gpu h200 --engine vllm@0.31.0"),
              ::testing::Contains("note issue.cuda-13-driver driver"));
  EXPECT_THAT(Told(command, "--gpu h200 --engine vllm@0.31.0 --driver 570.86.10"),
              ::testing::Contains("error issue.cuda-13-driver driver"));
  EXPECT_THAT(Told(command, "--gpu h200 --engine vllm@0.31.0 --driver 580.95.05"),
              Not(::testing::Contains(HasSubstr("cuda-13-driver"))));
  // An image of another CUDA.
  EXPECT_THAT(Told("docker run --ipc=host vllm/vllm-openai:v0.31.0-cu129 --model org/model",
                   "--gpu h200 --driver 570.86.10"),
              Not(::testing::Contains(HasSubstr("cuda-13-driver"))));
}

// What memory says is told beside a known issue.
TEST(CheckCommandTest, AKnownIssueHidesNoFigures) {
  const std::string options =
      "tiny-moe/config.json --gpu h200 --engine vllm@0.31.0 --driver 570.86.10";
  const auto told = Told("vllm serve org/model", options + " --gpu-memory-in-use 100GiB");
  EXPECT_THAT(told, ::testing::Contains("error issue.cuda-13-driver driver"));
  EXPECT_THAT(told, ::testing::Contains(HasSubstr("error fit.")));
  const auto fits = Told("vllm serve org/model --max-num-seqs 4", options);
  EXPECT_THAT(fits, ::testing::Contains("error issue.cuda-13-driver driver"));
  EXPECT_THAT(fits, ::testing::Contains("note default.kv_cache_dtype --kv-cache-dtype"));
}

TEST(CheckCommandTest, FlagsAloneAreEnough) {
  const std::string sglang = "python3 -m sglang.launch_server --model-path org/model ";
  EXPECT_THAT(Told(sglang + "--tp-size 8 --kv-cache-dtype foo --attention-backend foo "
                            "--decode-attention-backend foo --moe-runner-backend foo "
                            "--moe-a2a-backend foo --quantization foo --schedule-policy foo"),
              ::testing::IsSupersetOf({"error command.value --kv-cache-dtype foo",
                                       "error command.value --attention-backend foo",
                                       "error command.value --decode-attention-backend foo",
                                       "error command.value --moe-runner-backend foo",
                                       "error command.value --moe-a2a-backend foo",
                                       "warning command.plugin_value --quantization foo",
                                       "error command.value --schedule-policy foo"}));
  EXPECT_THAT(Check(sglang + "--attention-backend flashinfr").out,
              HasSubstr("did you mean flashinfer?"));
  EXPECT_THAT(Told(sglang + "--kv-cache-dtype fp8"),
              ::testing::Contains("error command.value --kv-cache-dtype fp8"));
  EXPECT_THAT(Told(sglang + "--kv-cache-dtype bf16", "--engine sglang@0.5.2"),
              ::testing::Contains("error command.value_too_new --kv-cache-dtype bf16"));
  EXPECT_THAT(Told(sglang + "--tp 8 --dp 3 --enable-dp-attention"),
              ::testing::Contains("error layout.dp_attention --dp-size 3"));
  EXPECT_THAT(Told(sglang + "--tp 8 --enable-dp-lm-head --ep-size 3"),
              ::testing::IsSupersetOf({"error layout.dp_lm_head --enable-dp-lm-head",
                                       "error layout.experts --ep-size 3"}));
  EXPECT_THAT(Told("vllm serve m --max-num-batched-tokens 1024 --max-model-len 32768 "
                   "--no-enable-chunked-prefill"),
              ::testing::Contains("error engine.batched_tokens --max-num-batched-tokens 1024"));
  EXPECT_THAT(Told("vllm serve m --max-num-batched-tokens 64 --max-num-seqs 128"),
              ::testing::Contains("error engine.batched_tokens --max-num-batched-tokens 64"));
  EXPECT_THAT(Told("vllm serve m -tp 8 -dcp 3 --data-parallel-size 2 --data-parallel-size-local 4 "
                   "--headless --api-server-count 2 --tool-call-parser kimi-k2"),
              ::testing::IsSupersetOf({"error layout.dcp --decode-context-parallel-size 3",
                                       "error command.contradiction --data-parallel-size-local 4",
                                       "error command.contradiction --api-server-count 2",
                                       "error command.value --tool-call-parser kimi-k2"}));
  EXPECT_THAT(Told("vllm serve m --tool-call-parser mine --tool-parser-plugin /p.py"),
              Not(::testing::Contains(HasSubstr("error"))));
}

// The same finding once, whether the model says more or not.
TEST(CheckCommandTest, AModelRepeatsNothing) {
  const std::string command =
      "vllm serve m -tp 2 --max-num-batched-tokens 64 --max-num-seqs 128 --enable-eplb";
  for (const char* options : {"", "tiny-moe/config.json --gpu h20-96 --engine vllm@0.31.0"}) {
    const auto told = Told(command, options);
    EXPECT_EQ(std::count(told.begin(), told.end(),
                         "error engine.batched_tokens --max-num-batched-tokens 64"),
              1)
        << options;
    EXPECT_EQ(std::count_if(told.begin(), told.end(),
                            [](const std::string& f) { return f.ends_with(" --enable-eplb"); }),
              1)
        << options;
  }
}

TEST(CheckCommandTest, ValuesThatTheParserRefuses) {
  const std::string command =
      "vllm serve m -tp 4 --gpu-memory-utilization 1.5 --dtype float8 --kv-cache-dtype fp7 "
      "--load-format nope --attention-backend FOO --moe-backend foo --port 70000 --seed abc "
      "--scheduling-policy nope --nnodes 1 --node-rank 3";
  const auto told = Told(command);
  EXPECT_THAT(
      told,
      ::testing::IsSupersetOf(
          {"error command.value --gpu-memory-utilization 1.5", "error command.value --dtype float8",
           "error command.value --kv-cache-dtype fp7", "error command.value --load-format nope",
           "error command.value --attention-backend FOO", "error command.value --moe-backend foo",
           "error command.value --port 70000", "error command.value --seed abc",
           "error command.value --scheduling-policy nope", "error command.value --node-rank 3"}));
  EXPECT_EQ(Check(command).code, 1);
  // The line wins: its value counts, and the command's is not looked at.
  EXPECT_EQ(Check("vllm serve m --dtype float8", "--dtype bfloat16").code, 0);
}

// A draft that doesn't suit its model, with a card and without one.
TEST(CheckCommandTest, DraftsAreLookedAt) {
  const testing_support::TempDir dir;
  dir.Write("head/config.json", R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 256,
      "intermediate_size": 512, "num_hidden_layers": 1, "num_attention_heads": 8,
      "num_key_value_heads": 8, "vocab_size": 320, "draft_vocab_size": 64,
      "max_position_embeddings": 1024})");
  const std::string command =
      "vllm serve org/model --speculative-config '{\"method\": \"eagle3\", \"model\": \"" +
      dir.Path("head") + "\", \"num_speculative_tokens\": 3}'";
  for (const char* card : {"", " --gpu h20-96"}) {
    const auto told = Told(command, std::string("tiny-dense/config.json") + card);
    EXPECT_THAT(told, ::testing::Contains("error speculative.hidden_size --speculative-config"));
  }
  EXPECT_THAT(Told("vllm serve org/model --speculative-config '{\"method\": \"eagle3\", "
                   "\"model\": \"/nowhere\", \"num_speculative_tokens\": 3}'",
                   "tiny-dense/config.json"),
              ::testing::Contains("error command.refused --speculative-config"));
  EXPECT_THAT(Check("vllm serve m --speculative-config '{\"method\": \"ngram\", "
                    "\"num_speculative_tokens\": 3, \"prompt_lookup_min\": 4, "
                    "\"prompt_lookup_max\": 3}'")
                  .out,
              HasSubstr("vLLM would say: prompt_lookup_min=4 must be"));
}

TEST(CheckCommandTest, WhatIsNoCommand) {
  const Outcome none = RunProgram("check command");
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("COMMAND: expected a command that serves, found none"));
  EXPECT_EQ(Check("ls -l").code, 2);
  const Outcome open = Check("vllm serve 'open");
  EXPECT_EQ(open.code, 2);
  EXPECT_THAT(open.err, HasSubstr("error: COMMAND: a ' is not closed"));
  EXPECT_EQ(Check("vllm serve m", "--engine sglang").code, 2);
  EXPECT_EQ(Check("vllm serve m", "--gpu h999").code, 2);
}

}  // namespace
}  // namespace shardplan::cli
