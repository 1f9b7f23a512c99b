#include "model/quantization_plan.h"

#include <gtest/gtest.h>

#include "support/quantized_configs.h"

namespace shardplan {
namespace {

using testing_support::ModelOpt;

Result<QuantPlan> ReadPlan(const nlohmann::json& quantization, const std::string& sidecar = "") {
  nlohmann::json config = {{"torch_dtype", "bfloat16"}};
  if (!quantization.is_null()) config["quantization_config"] = quantization;
  ConfigReader reader(config, "config.json");
  return ReadQuantizationPlan(reader, sidecar, "hf_quant_config.json");
}

QuantPlan Good(const nlohmann::json& quantization, const std::string& sidecar = "") {
  Result<QuantPlan> plan = ReadPlan(quantization, sidecar);
  EXPECT_TRUE(plan.has_value()) << (plan ? "" : plan.error().ToString());
  return plan ? std::move(*plan) : QuantPlan();
}

std::string ErrorOf(const nlohmann::json& quantization, const std::string& sidecar = "") {
  const Result<QuantPlan> plan = ReadPlan(quantization, sidecar);
  return plan ? "read" : plan.error().ToString();
}

TEST(QuantPlan, NothingSaidIsPlain) {
  EXPECT_TRUE(Good(nullptr).plain());
  EXPECT_TRUE(Good(nlohmann::json::object()).plain());
  EXPECT_TRUE(Good(nullptr, R"({"quantization": {"quant_algo": null}})").plain());
  EXPECT_TRUE(Good(nullptr).FormatFor("model.layers.0.mlp.up_proj").plain());
}

TEST(QuantPlan, Fp8) {
  const QuantPlan block = Good({{"quant_method", "fp8"},
                                {"weight_block_size", {128, 64}},
                                {"modules_to_not_convert", {"gate", "lm_head"}}});
  EXPECT_EQ(block.FormatFor("a.mlp.up_proj"), (QuantFormat{QuantScheme::kFp8Block, 128, 64}));
  EXPECT_TRUE(block.FormatFor("a.mlp.gate").plain());
  EXPECT_TRUE(block.gqa_scales);
  EXPECT_FALSE(block.mla_scales);
  const QuantPlan tensor = Good({{"quant_method", "fp8"}, {"activation_scheme", "static"}});
  EXPECT_EQ(tensor.FormatFor("x").scheme, QuantScheme::kFp8Tensor);
  EXPECT_TRUE(tensor.FormatFor("x").input_scale);
  EXPECT_EQ(ErrorOf({{"quant_method", "fp8"}, {"weight_block_size", {128}}}),
            "config.json: quantization_config.weight_block_size: expected two numbers");
}

TEST(QuantPlan, AwqAndGptq) {
  const QuantFormat awq = Good(testing_support::Awq(true)).FormatFor("x");
  EXPECT_EQ(awq.scheme, QuantScheme::kAwq);
  EXPECT_EQ(awq.block_in, 128);
  EXPECT_TRUE(awq.zero_points);
  const QuantFormat gptq =
      Good({{"quant_method", "gptq"}, {"bits", 8}, {"group_size", -1}, {"desc_act", true}})
          .FormatFor("x");
  EXPECT_EQ(gptq.scheme, QuantScheme::kGptq);
  EXPECT_EQ(gptq.bits, 8);
  EXPECT_EQ(gptq.block_in, 0);
  EXPECT_TRUE(gptq.act_order);
  EXPECT_EQ(ErrorOf({{"quant_method", "gptq"}, {"bits", 3}}),
            "config.json: GPTQ in 3 bits is not known; plan the unquantized checkpoint, or one in "
            "FP8, NVFP4, MXFP4, AWQ, GPTQ or compressed-tensors");
  EXPECT_NE(ErrorOf({{"quant_method", "gptq"}, {"bits", 4}, {"lm_head", true}}).find("lm_head"),
            std::string::npos);
  EXPECT_NE(ErrorOf({{"quant_method", "awq"}, {"bits", 4}, {"group_size", -2}}).find("group_size"),
            std::string::npos);
}

TEST(QuantPlan, FbgemmScalesEveryOutput) {
  const QuantPlan plan =
      Good({{"quant_method", "fbgemm_fp8"},
            {"activation_scale_ub", 1200.0},
            {"modules_to_not_convert", {"model.layers.0", "self_attn", "lm_head"}}});
  EXPECT_EQ(plan.method, "fbgemm_fp8");
  EXPECT_EQ(plan.FormatFor("model.layers.1.mlp.up_proj").scheme, QuantScheme::kFp8Channel);
  EXPECT_FALSE(plan.FormatFor("model.layers.1.mlp.up_proj").input_scale);
  EXPECT_TRUE(plan.FormatFor("model.layers.1.self_attn.q_proj").plain());
  EXPECT_TRUE(plan.FormatFor("model.layers.0.mlp.up_proj").plain());
}

nlohmann::json Compressed(const nlohmann::json& weights, const nlohmann::json& activations,
                          const std::string& format) {
  return {{"quant_method", "compressed-tensors"},
          {"format", format},
          {"config_groups",
           {{"group_0",
             {{"targets", {"Linear"}}, {"weights", weights}, {"input_activations", activations}}}}},
          {"ignore", {"re:.*self_attn.*"}}};
}

TEST(QuantPlan, CompressedTensors) {
  const auto scheme = [](const nlohmann::json& weights, const nlohmann::json& activations,
                         const std::string& format) {
    return Good(Compressed(weights, activations, format)).FormatFor("model.layers.0.mlp.up_proj");
  };
  const QuantFormat int4 =
      scheme({{"num_bits", 4}, {"type", "int"}, {"strategy", "group"}, {"group_size", 32}}, nullptr,
             "pack-quantized");
  EXPECT_EQ(int4.scheme, QuantScheme::kIntPacked);
  EXPECT_EQ(int4.block_in, 32);
  EXPECT_EQ(int4.scale_dtype, DType::kBF16);
  EXPECT_FALSE(int4.zero_points);
  EXPECT_EQ(scheme({{"num_bits", 8}, {"type", "int"}, {"strategy", "channel"}},
                   {{"num_bits", 8}, {"dynamic", true}}, "int-quantized")
                .scheme,
            QuantScheme::kInt8);
  EXPECT_EQ(scheme({{"num_bits", 8}, {"type", "float"}, {"strategy", "channel"}},
                   {{"num_bits", 8}, {"dynamic", true}}, "float-quantized")
                .scheme,
            QuantScheme::kFp8Channel);
  const QuantFormat fp8 = scheme({{"num_bits", 8}, {"type", "float"}, {"strategy", "tensor"}},
                                 {{"num_bits", 8}, {"dynamic", false}}, "float-quantized");
  EXPECT_EQ(fp8.scheme, QuantScheme::kFp8Tensor);
  EXPECT_TRUE(fp8.input_scale);
  const QuantFormat block = scheme(
      {{"num_bits", 8}, {"type", "float"}, {"strategy", "block"}, {"block_structure", {128, 128}}},
      {{"num_bits", 8}, {"dynamic", true}}, "float-quantized");
  EXPECT_EQ(block.scheme, QuantScheme::kFp8Block);
  EXPECT_EQ(block.block_out, 128);
  EXPECT_EQ(scheme({{"num_bits", 4}, {"type", "float"}, {"group_size", 16}},
                   {{"num_bits", 4}, {"dynamic", "local"}}, "nvfp4-pack-quantized")
                .scheme,
            QuantScheme::kNvfp4);
  EXPECT_EQ(scheme({{"num_bits", 4}, {"type", "float"}, {"group_size", 32}}, nullptr,
                   "mxfp4-pack-quantized")
                .scheme,
            QuantScheme::kMxfp4);
  const QuantPlan plan = Good(Compressed({{"num_bits", 4}, {"type", "int"}, {"group_size", 128}},
                                         nullptr, "pack-quantized"));
  EXPECT_TRUE(plan.FormatFor("model.layers.0.self_attn.q_proj").plain());
}

TEST(QuantPlan, TargetsChooseTheFirstGroupThatNamesTheModule) {
  nlohmann::json config = Compressed({{"num_bits", 4}, {"type", "float"}, {"group_size", 16}},
                                     nullptr, "mixed-precision");
  config["ignore"] = nlohmann::json::array();
  config["config_groups"]["group_0"]["targets"] = {"re:.*experts.*"};
  config["config_groups"]["group_1"] = {
      {"targets", {"re:.*self_attn.*"}},
      {"weights", {{"num_bits", 8}, {"type", "float"}, {"strategy", "channel"}}}};
  const QuantPlan plan = Good(config);
  EXPECT_EQ(plan.FormatFor("l.0.mlp.experts.3.up_proj").scheme, QuantScheme::kNvfp4);
  EXPECT_EQ(plan.FormatFor("l.0.self_attn.q_proj").scheme, QuantScheme::kFp8Channel);
  EXPECT_TRUE(plan.FormatFor("l.0.mlp.up_proj").plain());
  // A name goes before the class of all linears, whichever group comes first.
  config["config_groups"]["a"] = {
      {"targets", {"Linear"}},
      {"weights", {{"num_bits", 8}, {"type", "int"}, {"strategy", "channel"}}}};
  const QuantPlan mixed = Good(config);
  EXPECT_EQ(mixed.FormatFor("l.0.mlp.experts.3.up_proj").scheme, QuantScheme::kNvfp4);
  EXPECT_EQ(mixed.FormatFor("l.0.mlp.up_proj").scheme, QuantScheme::kInt8);
}

TEST(QuantPlan, ModelOptBesideTheConfigOrInIt) {
  const std::string sidecar = R"({"quantization": {"quant_algo": "NVFP4", "group_size": 16,
      "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head", "model.layers.0*"]}})";
  for (const QuantPlan& plan :
       {Good(nullptr, sidecar), Good(ModelOpt("NVFP4", {"lm_head", "model.layers.0*"}))}) {
    EXPECT_EQ(plan.method, "modelopt");
    EXPECT_EQ(plan.FormatFor("model.layers.1.mlp.up_proj").scheme, QuantScheme::kNvfp4);
    EXPECT_TRUE(plan.FormatFor("model.layers.1.mlp.up_proj").input_scale);
    EXPECT_TRUE(plan.FormatFor("model.layers.0.mlp.up_proj").plain());
    EXPECT_TRUE(plan.fp8_cache);
    EXPECT_TRUE(plan.mla_scales);
  }
  // The config's own word comes first.
  EXPECT_EQ(Good({{"quant_method", "fp8"}}, sidecar).FormatFor("x").scheme,
            QuantScheme::kFp8Tensor);
}

TEST(QuantPlan, MixedPrecisionNamesModulesOrWhatIsAboveThem) {
  const QuantPlan plan =
      Good(nullptr,
           R"({"quantization": {"quant_algo": "MIXED_PRECISION", "quantized_layers": {
          "layers.0.mixer.in_proj": {"quant_algo": "FP8"},
          "layers.1.mixer.experts": {"quant_algo": "W4A16_NVFP4", "group_size": 16},
          "layers.2.mlp.up_proj": {"quant_algo": "MXFP8"}}}})");
  EXPECT_EQ(plan.FormatFor("layers.0.mixer.in_proj").scheme, QuantScheme::kFp8Tensor);
  EXPECT_EQ(plan.FormatFor("layers.1.mixer.experts.7.up_proj").scheme, QuantScheme::kNvfp4);
  EXPECT_FALSE(plan.FormatFor("layers.1.mixer.experts.7.up_proj").input_scale);
  EXPECT_EQ(plan.FormatFor("layers.2.mlp.up_proj").scheme, QuantScheme::kMxfp8);
  EXPECT_TRUE(plan.FormatFor("layers.10.mixer.in_proj").plain());
}

TEST(QuantPlan, BitsAndBytes) {
  EXPECT_EQ(Good({{"quant_method", "bitsandbytes"}, {"load_in_4bit", true}}).FormatFor("x").scheme,
            QuantScheme::kBnb4);
  EXPECT_NE(ErrorOf({{"quant_method", "bitsandbytes"}, {"load_in_8bit", true}}).find("8 bits"),
            std::string::npos);
}

TEST(QuantPlan, WhatIsNotKnownIsNamed) {
  constexpr const char* kFix =
      "; plan the unquantized checkpoint, or one in FP8, NVFP4, MXFP4, AWQ, GPTQ or "
      "compressed-tensors";
  EXPECT_EQ(ErrorOf({{"quant_method", "exl2"}}),
            std::string("config.json: quantization method 'exl2' is not known") + kFix);
  EXPECT_EQ(
      ErrorOf({{"bits", 3}}),
      std::string("config.json: a quantization_config without a quant_method is not known") + kFix);
  EXPECT_EQ(ErrorOf(nullptr, R"({"quantization": {"quant_algo": "NVFP4_AWQ"}})"),
            std::string("hf_quant_config.json: quantization 'NVFP4_AWQ' is not known") + kFix);
  EXPECT_EQ(ErrorOf("fp8"), "config.json: quantization_config: expected an object, found \"fp8\"");
  EXPECT_NE(ErrorOf(nullptr, "[]").find("expected a JSON object"), std::string::npos);
}

}  // namespace
}  // namespace shardplan
