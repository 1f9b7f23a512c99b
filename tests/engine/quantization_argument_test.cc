#include "engine/quantization_argument.h"

#include <gtest/gtest.h>

namespace shardplan {
namespace {

// "id: message; fix", or "taken".
std::string CheckMethod(const std::string& engine, const StoredQuantization& stored,
                        const std::string& given) {
  EngineSettings settings;
  settings.command_flags = {{"--max-model-len", "8192", true}, {"--quantization", given, false}};
  const std::optional<Finding> f = CheckQuantization(engine, stored, settings);
  if (!f) return "taken";
  EXPECT_EQ(f->severity, Severity::kError);
  EXPECT_EQ(f->subject, "--quantization " + given);
  return f->id + ": " + f->message + "; " + f->fix;
}

std::string Mismatch(const std::string& engine, const std::string& declared,
                     const std::string& given) {
  return "command.quantization_mismatch: " + engine +
         " would say: Quantization method specified in the model config (" + declared +
         ") does not match the quantization method specified in the `quantization` argument (" +
         given + ").; leave it out: the engine finds the checkpoint's own method";
}

TEST(QuantizationArgumentTest, AnotherMethodThanTheConfigs) {
  EXPECT_EQ(CheckMethod("vllm", {"fp8", true}, "gptq"), Mismatch("vLLM", "fp8", "gptq"));
  // A public report: Kimi-K2's INT4 and --quantization fp8.
  EXPECT_EQ(CheckMethod("vllm", {"compressed-tensors", true}, "fp8"),
            Mismatch("vLLM", "compressed-tensors", "fp8"));
  EXPECT_EQ(CheckMethod("sglang", {"compressed-tensors", true}, "fp8"),
            Mismatch("SGLang", "compressed-tensors", "fp8"));
  // A public report: a repository "…-AWQ-4bit" whose config says compressed-tensors.
  EXPECT_EQ(CheckMethod("vllm", {"compressed-tensors", true}, "awq_marlin"),
            Mismatch("vLLM", "compressed-tensors", "awq_marlin"));
  EXPECT_EQ(CheckMethod("vllm", {"fp8", true}, "fp8_per_block"),
            Mismatch("vLLM", "fp8", "fp8_per_block"));
  EXPECT_EQ(CheckMethod("vllm", {"awq", true}, "gptq"), Mismatch("vLLM", "awq", "gptq"));
}

TEST(QuantizationArgumentTest, TheSameMethodAndKernelsForIt) {
  for (const char* engine : {"vllm", "sglang"}) {
    EXPECT_EQ(CheckMethod(engine, {"fp8", true}, "fp8"), "taken");
    EXPECT_EQ(CheckMethod(engine, {"gptq", true}, "gptq"), "taken");
    EXPECT_EQ(CheckMethod(engine, {"gptq", true}, "gptq_marlin"), "taken");
    EXPECT_EQ(CheckMethod(engine, {"awq", true}, "awq_marlin"), "taken");
    EXPECT_EQ(CheckMethod(engine, {"awq", true}, "moe_wna16"), "taken");
    EXPECT_EQ(CheckMethod(engine, {"compressed-tensors", true}, "compressed-tensors"), "taken");
  }
  // SGLang's compatible_quantization_methods.
  EXPECT_EQ(CheckMethod("sglang", {"compressed-tensors", true}, "w8a8_fp8"), "taken");
  EXPECT_EQ(CheckMethod("vllm", {"compressed-tensors", true}, "w8a8_fp8"),
            Mismatch("vLLM", "compressed-tensors", "w8a8_fp8"));
  EXPECT_EQ(CheckMethod("sglang", {"fp8", true}, "nvfp4_online"), "taken");
}

TEST(QuantizationArgumentTest, WhatOnlyTheEngineCanTell) {
  EXPECT_EQ(CheckMethod("vllm", {"modelopt", true}, "modelopt_fp4"), "taken");
  EXPECT_EQ(CheckMethod("vllm", {"modelopt", true}, "gptq"),
            "taken");  // ModelOpt's override goes first
  EXPECT_EQ(CheckMethod("vllm", {"fp8", true}, "my_plugin"), "taken");
  EXPECT_EQ(CheckMethod("sglang", {"compressed-tensors", true}, "quark_mxfp4"), "taken");
}

TEST(QuantizationArgumentTest, WeightsThatAreNotQuantized) {
  const std::string fix = "; leave it out, or serve a checkpoint that is quantized so";
  EXPECT_EQ(CheckMethod("vllm", {"", false}, "awq"),
            "command.quantization_plain: the checkpoint is not quantized: vLLM would say: Cannot "
            "find the config file for awq" +
                fix);
  EXPECT_EQ(CheckMethod("sglang", {"", false}, "compressed-tensors"),
            "command.quantization_plain: the checkpoint is not quantized, and this method is made "
            "of what a checkpoint's config says" +
                fix);
  EXPECT_EQ(CheckMethod("vllm", {"", false}, "fp8"), "taken");           // quantizes while loading
  EXPECT_EQ(CheckMethod("vllm", {"", false}, "bitsandbytes"), "taken");  // so does this
  // Old exports say it in quantize_config.json, beside a config that is silent.
  EXPECT_EQ(CheckMethod("vllm", {"", true}, "gptq"), "taken");
}

TEST(QuantizationArgumentTest, TheLastOneCountsAndNoneIsFine) {
  EngineSettings settings;
  EXPECT_FALSE(CheckQuantization("vllm", {"fp8", true}, settings));
  settings.command_flags = {{"--quantization", "gptq", false}, {"--quantization", "fp8", false}};
  EXPECT_FALSE(CheckQuantization("vllm", {"fp8", true}, settings));
}

}  // namespace
}  // namespace shardplan
