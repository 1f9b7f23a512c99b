#include "engine/flag_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/flag_table.h"

namespace shardplan {
namespace {

std::string Told(const char* flag, const std::string& value, const char* engine = "vllm") {
  const Status status = CheckFlagValue(engine, flag, value);
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
}

TEST(FlagValuesTest, Choices) {
  EXPECT_EQ(Told("--scheduling-policy", "priority"), "");
  EXPECT_EQ(Told("--scheduling-policy", "nope"),
            "--scheduling-policy nope: expected fcfs or priority");
  EXPECT_EQ(Told("--kv-cache-dtype", "nvfp4"), "");
  EXPECT_THAT(Told("--kv-cache-dtype", "fp7"), ::testing::HasSubstr("expected auto, float16, "));
  EXPECT_EQ(Told("--dtype", "half"), "");
  EXPECT_THAT(Told("--dtype", "float8"), ::testing::HasSubstr("did you mean "));
  EXPECT_EQ(Told("--tokenizer-mode", "slow", "sglang"), "");
  EXPECT_NE(Told("--tokenizer-mode", "zzz", "sglang"), "");
  // Names in either case, with either dash.
  EXPECT_EQ(Told("--attention-backend", "Flash-Attn"), "");
  EXPECT_EQ(Told("--moe-backend", "DEEP_GEMM"), "");
  EXPECT_NE(Told("--moe-backend", "foo"), "");
}

TEST(FlagValuesTest, OthersTakeAnything) {
  // Plugins add tokenizer modes and quantizations to vLLM.
  EXPECT_EQ(Told("--tokenizer-mode", "zzz"), "");
  EXPECT_EQ(Told("--quantization", "zzz"), "");
  EXPECT_EQ(Told("--port", "x", "tgi"), "");
}

TEST(FlagValuesTest, WhatPluginsExtendIsWarnedAbout) {
  const auto told = [](const char* flag, const std::string& value, const char* engine = "vllm") {
    const auto finding = CheckOpenValue(engine, flag, value);
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
  EXPECT_THAT(told("--tokenizer-mode", "deepseek_v3"), ::testing::HasSubstr("deepseek_v32"));
  EXPECT_EQ(told("--quantization", "fp8"), "");
  EXPECT_EQ(told("--distributed-executor-backend", "mine.executors.Executor"), "");  // a class
  EXPECT_EQ(told("--tool-call-parser", "zzz"), "");
  EXPECT_NE(told("--quantization", "zzz", "sglang"), "");
  EXPECT_EQ(told("--load-format", "layered", "sglang"), "");
}

TEST(FlagValuesTest, EveryFlagIsOne) {
  for (const char* engine : {"vllm", "sglang"}) {
    const auto table = FlagTable::Load(ConfigStore::BuiltIn(), engine);
    ASSERT_TRUE(table.has_value());
    std::vector<std::string> flags = CheckedFlags(engine);
    const std::vector<std::string> open = OpenFlags(engine);
    EXPECT_FALSE(open.empty());
    flags.insert(flags.end(), open.begin(), open.end());
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
