#include "model/header_formats.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "shardplan/model/model.h"
#include "support/quantized_configs.h"
#include "support/temp_dir.h"
#include "support/tiny_checkpoint.h"
#include "support/tiny_models.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::ModelOpt;
using testing_support::TempDir;
using testing_support::TinyQwen3Moe;
using testing_support::WriteTiny;

// Quantization configs of every kind, with groups that fit a tiny model.
std::vector<std::pair<std::string, nlohmann::json>> Quantizations() {
  const auto compressed = [](const nlohmann::json& weights, const nlohmann::json& activations,
                             const std::string& format) -> nlohmann::json {
    return {
        {"quant_method", "compressed-tensors"},
        {"format", format},
        {"config_groups",
         {{"group_0",
           {{"targets", {"Linear"}}, {"weights", weights}, {"input_activations", activations}}}}},
        {"ignore", {"lm_head"}}};
  };
  return {
      {"fp8 block", {{"quant_method", "fp8"}, {"weight_block_size", {8, 8}}}},
      {"fp8 tensor", {{"quant_method", "fp8"}, {"activation_scheme", "static"}}},
      {"fp8 channel", compressed({{"num_bits", 8}, {"type", "float"}, {"strategy", "channel"}},
                                 {{"num_bits", 8}, {"dynamic", true}}, "float-quantized")},
      {"awq", {{"quant_method", "awq"}, {"bits", 4}, {"group_size", 16}, {"zero_point", true}}},
      {"gptq", {{"quant_method", "gptq"}, {"bits", 4}, {"group_size", 16}}},
      {"gptq 8 bits", {{"quant_method", "gptq"}, {"bits", 8}, {"group_size", -1}}},
      {"int4", compressed({{"num_bits", 4}, {"type", "int"}, {"group_size", 16}}, nullptr,
                          "pack-quantized")},
      {"int8", compressed({{"num_bits", 8}, {"type", "int"}, {"strategy", "channel"}},
                          {{"num_bits", 8}, {"dynamic", true}}, "int-quantized")},
      {"mxfp4", compressed({{"num_bits", 4}, {"type", "float"}, {"group_size", 32}}, nullptr,
                           "mxfp4-pack-quantized")},
      {"nvfp4 packed", compressed({{"num_bits", 4}, {"type", "float"}, {"group_size", 16}},
                                  {{"num_bits", 4}, {"dynamic", "local"}}, "nvfp4-pack-quantized")},
      {"nvfp4", ModelOpt("NVFP4", {"lm_head"})},
      {"modelopt fp8", ModelOpt("FP8", {"lm_head"})},
  };
}

bool Has(const Model& model, const std::string& id) {
  return std::any_of(model.findings.begin(), model.findings.end(),
                     [&](const Finding& finding) { return finding.id == id; });
}

const ModuleRow* Row(const Model& model, const std::string& name) {
  for (const ModuleRow& row : model.table.rows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

TEST(HeaderFormats, AgreeWithTheConfigsThatWroteThem) {
  for (const auto& [name, quantization] : Quantizations()) {
    SCOPED_TRACE(name);
    TempDir dir;
    nlohmann::json config = TinyQwen3Moe();
    config["quantization_config"] = quantization;
    WriteTiny(config, dir.Path("m"));
    const auto model = LoadModel(dir.Path("m"));
    ASSERT_TRUE(model.has_value()) << model.error().ToString();
    EXPECT_FALSE(Has(*model, "model.quantization_differs"));
    EXPECT_FALSE(Has(*model, "model.quantization_unsaid"));
    EXPECT_FALSE(Has(*model, "model.unknown_tensors"));
    EXPECT_EQ(model->totals.payload, Totals(Build(config).table).payload);
  }
}

TEST(HeaderFormats, TellWhatAConfigDoesNotSay) {
  for (const auto& [name, quantization] : Quantizations()) {
    SCOPED_TRACE(name);
    TempDir dir;
    nlohmann::json config = TinyQwen3Moe();
    config["quantization_config"] = quantization;
    WriteTiny(config, dir.Path("m"));
    const ModelSpec said = Build(config);
    config.erase("quantization_config");
    dir.Write("m/config.json", config.dump());
    const auto model = LoadModel(dir.Path("m"));
    ASSERT_TRUE(model.has_value()) << model.error().ToString();
    EXPECT_TRUE(Has(*model, "model.quantization_unsaid"));
    EXPECT_EQ(model->arch.quantization, said.arch.quantization);
    EXPECT_EQ(model->totals.payload, Totals(said.table).payload);
    EXPECT_FALSE(Row(*model, "model.layers.{L}.self_attn.o_proj")->device_quant.has_value());
  }
}

TEST(HeaderFormats, TheEngineCreatesWhatTheConfigSays) {
  TempDir dir;
  nlohmann::json config = TinyQwen3Moe();
  WriteTiny(config, dir.Path("m"));
  config["quantization_config"] = {{"quant_method", "fp8"}, {"weight_block_size", {8, 8}}};
  dir.Write("m/config.json", config.dump());
  const auto model = LoadModel(dir.Path("m"));
  ASSERT_TRUE(model.has_value()) << model.error().ToString();
  EXPECT_EQ(model->arch.quantization, "fp8");
  const ModuleRow* row = Row(*model, "model.layers.{L}.self_attn.o_proj");
  ASSERT_NE(row, nullptr);
  EXPECT_TRUE(row->quant.plain());
  ASSERT_TRUE(row->device_quant.has_value());
  EXPECT_EQ(row->device_quant->scheme, QuantScheme::kFp8Block);
  const auto finding =
      std::find_if(model->findings.begin(), model->findings.end(),
                   [](const Finding& f) { return f.id == "model.quantization_differs"; });
  ASSERT_NE(finding, model->findings.end());
  EXPECT_EQ(finding->subject,
            "model.layers.0.self_attn.q_proj is plain, the config says fp8_block");
  EXPECT_EQ(finding->severity, Severity::kWarning);
}

TEST(HeaderFormats, PartsThatMakeNoSenseTellNothing) {
  const QuantFormat expected = {QuantScheme::kFp8Block, 128, 128};
  EXPECT_EQ(FormatFromParts({}, 8, 8, expected), expected);
  EXPECT_EQ(FormatFromParts({{".qweight", {DType::kI32, Shape{}}}}, 8, 8, expected), expected);
  EXPECT_EQ(FormatFromParts(
                {{".qweight", {DType::kI32, Shape{0, 0}}}, {".scales", {DType::kF16, Shape{0, 0}}}},
                8, 8, {})
                .bits,
            4);
  EXPECT_EQ(FormatFromParts({{".weight_packed", {DType::kI32, Shape{8, 0}}},
                             {".weight_scale", {DType::kF16, Shape{8, 0}}}},
                            8, 8, {})
                .scheme,
            QuantScheme::kIntPacked);
  EXPECT_EQ(FormatFromParts({{".weight", {DType::kF8E4M3, Shape{8, 8}}}}, 8, 8, expected),
            expected);
}

}  // namespace
}  // namespace shardplan
