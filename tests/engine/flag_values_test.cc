#include "engine/flag_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/flag_table.h"

namespace shardplan {
namespace {

using ::testing::HasSubstr;

const ChoiceTable& Choices(const std::string& engine) {
  static const ChoiceTable vllm = *ChoiceTable::Load(ConfigStore::BuiltIn(), "vllm");
  static const ChoiceTable sglang = *ChoiceTable::Load(ConfigStore::BuiltIn(), "sglang");
  return engine == "vllm" ? vllm : sglang;
}

std::string Told(const char* flag, const std::string& value, const char* engine = "vllm",
                 const char* version = "") {
  const Status status = CheckFlagValue(Choices(engine), version, {flag, value, false});
  return status ? "" : status.error().ToString();
}

TEST(FlagValuesTest, Numbers) {
  EXPECT_EQ(Told("--port", "8000"), "");
  EXPECT_EQ(Told("--port", "70000"), "--port 70000: expected a whole number from 0 to 65,535");
  EXPECT_EQ(Told("--port", "http"), "--port http: expected a whole number from 0 to 65,535");
  EXPECT_EQ(Told("--seed", "-7"), "");
  EXPECT_EQ(Told("--seed", "abc"), "--seed abc: expected a whole number");
  EXPECT_EQ(Told("--node-rank", "-1"), "--node-rank -1: expected a whole number, at least 0");
  EXPECT_EQ(Told("--gpu-memory-utilization", "1"), "");
  EXPECT_EQ(Told("--gpu-memory-utilization", "1.5"),
            "--gpu-memory-utilization 1.5: expected a number above 0 and at most 1");
  EXPECT_EQ(Told("--random-seed", "1e3", "sglang"), "--random-seed 1e3: expected a whole number");
  EXPECT_EQ(Told("--gpu-id-step", "0", "sglang"),
            "--gpu-id-step 0: expected a whole number, at least 1");
  EXPECT_EQ(Told("--max-num-partial-prefills", "0"),
            "--max-num-partial-prefills 0: expected a whole number, at least 1");
}

TEST(FlagValuesTest, Choices) {
  EXPECT_EQ(Told("--scheduling-policy", "priority"), "");
  EXPECT_EQ(Told("--scheduling-policy", "nope"),
            "--scheduling-policy nope: expected fcfs or priority");
  EXPECT_EQ(Told("--kv-cache-dtype", "nvfp4"), "");
  EXPECT_THAT(Told("--kv-cache-dtype", "fp7"), HasSubstr("expected auto, float16, "));
  EXPECT_EQ(Told("--dtype", "half"), "");
  EXPECT_THAT(Told("--dtype", "float8"), HasSubstr("did you mean "));
  EXPECT_EQ(Told("--tokenizer-mode", "slow", "sglang"), "");
  EXPECT_NE(Told("--tokenizer-mode", "zzz", "sglang"), "");
  // Names in either case, with either dash.
  EXPECT_EQ(Told("--attention-backend", "Flash-Attn"), "");
  EXPECT_EQ(Told("--moe-backend", "DEEP_GEMM"), "");
  EXPECT_NE(Told("--moe-backend", "foo"), "");
  EXPECT_THAT(Told("--uvicorn-log-level", "in\"fo"), HasSubstr("did you mean info?"));
}

TEST(FlagValuesTest, ChoicesOfSglang) {
  EXPECT_EQ(Told("--kv-cache-dtype", "fp8", "sglang"),
            "--kv-cache-dtype fp8: expected auto, fp8_e5m2, fp8_e4m3, mxfp8, bf16, bfloat16, nvfp4 "
            "or fp4_mx_block16; did you mean fp8_e4m3, fp8_e5m2 or mxfp8?");
  EXPECT_EQ(Told("--kv-cache-dtype", "fp8", "sglang", "0.5.2"),
            "--kv-cache-dtype fp8: expected auto, fp8_e5m2, fp8_e4m3 or fp4_e2m1; did you mean "
            "fp8_e4m3 or fp8_e5m2?");
  EXPECT_THAT(Told("--attention-backend", "flashinfr", "sglang"),
              HasSubstr("did you mean flashinfer?"));
  // As its parser, which knows no other case.
  EXPECT_NE(Told("--attention-backend", "FA3", "sglang"), "");
  for (const char* flag :
       {"--decode-attention-backend", "--prefill-attention-backend", "--moe-runner-backend",
        "--moe-a2a-backend", "--schedule-policy", "--deepep-mode", "--hicache-mem-layout",
        "--disaggregation-mode", "--tool-call-parser", "--reasoning-parser"}) {
    EXPECT_THAT(Told(flag, "zzz", "sglang"), HasSubstr("expected ")) << flag;
  }
  EXPECT_EQ(Told("--tool-call-parser", "kimi_k2", "sglang"), "");
}

TEST(FlagValuesTest, ParsersOfPlugins) {
  EXPECT_EQ(Told("--tool-call-parser", "hermes"), "");
  EXPECT_EQ(Told("--tool-call-parser", "kimi-k2"),
            "--tool-call-parser kimi-k2: expected a parser of the engine's own, or "
            "--tool-parser-plugin with the file that registers it; did you mean kimi_k2 or "
            "kimi_k3?");
  EXPECT_THAT(Told("--reasoning-parser", "qwen4"), HasSubstr("did you mean qwen3?"));
  EXPECT_TRUE(CheckFlagValue(Choices("vllm"), "", {"--tool-call-parser", "mine", true}));
  // A misspelling is refused; what is like none may be of a release that nobody here has seen.
  EXPECT_FALSE(CheckFlagValue(Choices("vllm"), "", {"--tool-call-parser", "hermess", false}));
  EXPECT_TRUE(CheckFlagValue(Choices("vllm"), "", {"--tool-call-parser", "zzzzzz", false}));
}

TEST(FlagValuesTest, OthersTakeAnything) {
  // Plugins add tokenizer modes and quantizations to vLLM.
  EXPECT_EQ(Told("--tokenizer-mode", "zzz"), "");
  EXPECT_EQ(Told("--quantization", "zzz"), "");
  EXPECT_EQ(Told("--served-model-name", "x"), "");
}

TEST(FlagValuesTest, WhatPluginsExtendIsWarnedAbout) {
  const auto told = [](const char* flag, const std::string& value, const char* engine = "vllm") {
    const auto finding = CheckOpenValue(Choices(engine), "", {flag, value, false});
    if (!finding) return std::string();
    EXPECT_EQ(finding->id, "command.plugin_value");
    EXPECT_EQ(finding->severity, Severity::kWarning);
    return finding->subject + ": " + finding->message + "; " + finding->fix;
  };
  EXPECT_EQ(told("--quantization", "compressed_tensors"),
            "--quantization compressed_tensors: is none of the built-in choices, and stops a start "
            "unless a plugin adds it; did you mean compressed-tensors?");
  EXPECT_EQ(told("--distributed-executor-backend", "slurm"),
            "--distributed-executor-backend slurm: is none of the built-in choices, and stops a "
            "start unless a plugin adds it; one of ray, mp, uni or external_launcher");
  EXPECT_THAT(told("--tokenizer-mode", "deepseek_v3"), HasSubstr("deepseek_v32"));
  EXPECT_EQ(told("--quantization", "fp8"), "");
  EXPECT_EQ(told("--distributed-executor-backend", "mine.executors.Executor"), "");  // a class
  EXPECT_THAT(told("--tool-call-parser", "zzzzzz"),
              HasSubstr("is no parser of the releases known, and stops a start unless "
                        "--tool-parser-plugin or a later release adds it; one of "));
  EXPECT_EQ(told("--tool-call-parser", "hermess"), "");  // refused already
  EXPECT_EQ(told("--tool-call-parser", "hermes"), "");
  EXPECT_NE(told("--quantization", "zzz", "sglang"), "");
  EXPECT_EQ(told("--load-format", "layered", "sglang"), "");
}

TEST(FlagValuesTest, ValuesOfOtherVersions) {
  const auto told = [](const char* engine, const char* version, const char* flag,
                       const char* value) {
    const char* const name = std::string(engine) == "vllm" ? "vLLM" : "SGLang";
    const auto finding = CheckValueVersion(Choices(engine), name, version, {flag, value, false});
    if (!finding) return std::string();
    EXPECT_EQ(finding->severity, Severity::kWarning);
    return finding->id + ": " + finding->subject + ": " + finding->message + "; " + finding->fix;
  };
  EXPECT_EQ(told("sglang", "0.5.2", "--kv-cache-dtype", "bf16"),
            "command.value_too_new: --kv-cache-dtype bf16: SGLang 0.5.2 does not take it: 0.5.3 is "
            "the last version known without it; one of auto, fp8_e5m2, fp8_e4m3 or fp4_e2m1");
  EXPECT_EQ(told("sglang", "0.5.4", "--kv-cache-dtype", "bf16"), "");
  EXPECT_EQ(told("sglang", "", "--kv-cache-dtype", "bf16"), "");
  EXPECT_EQ(told("sglang", "0.5.18", "--load-balance-method", "shortest_queue"),
            "command.value_removed: --load-balance-method shortest_queue: SGLang 0.5.18 does not "
            "take it any more: 0.5.18 is the first version known without it; one of auto, "
            "round_robin, follow_bootstrap_room, total_requests or total_tokens");
  EXPECT_THAT(told("sglang", "", "--load-balance-method", "minimum_tokens"),
              HasSubstr("the newest SGLang does not take it any more"));
  EXPECT_THAT(told("vllm", "0.10.0", "--tool-call-parser", "openai"),
              HasSubstr("command.value_too_new"));
  EXPECT_EQ(told("vllm", "0.10.2", "--tool-call-parser", "openai"), "");
  EXPECT_EQ(told("vllm", "0.10.0", "--tool-call-parser", "zzz"), "");
}

TEST(FlagValuesTest, EveryNumberIsOfAFlag) {
  for (const char* engine : {"vllm", "sglang"}) {
    const auto table = FlagTable::Load(ConfigStore::BuiltIn(), engine);
    ASSERT_TRUE(table.has_value());
    const std::vector<std::string> flags = NumberFlags(engine);
    EXPECT_FALSE(flags.empty());
    for (const std::string& flag : flags) {
      const FlagRow* const row = table->Find(flag);
      ASSERT_NE(row, nullptr) << flag;
      EXPECT_EQ(row->name, flag);
    }
  }
}

}  // namespace
}  // namespace shardplan
