#include <gtest/gtest.h>

#include "model/quantization_plan.h"
#include "support/example_model.h"
#include "support/tiny_models.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::ModelOpt;
using testing_support::TinyDense;
using testing_support::TinyQwen3Moe;

// The layers in which rows called `name` have `scheme`.
std::vector<int64_t> LayersWith(const ModelSpec& spec, const std::string& name,
                                QuantScheme scheme) {
  std::vector<int64_t> layers;
  for (const ModuleRow& row : spec.table.rows) {
    if (row.name != name || row.quant.scheme != scheme) continue;
    layers.insert(layers.end(), row.layers.layers().begin(), row.layers.layers().end());
  }
  return layers;
}

TEST(ApplyQuantization, SplitsRowsByLayer) {
  nlohmann::json config = TinyDense();
  config["quantization_config"] = ModelOpt("NVFP4", {"lm_head", "model.layers.0*", "*.o_proj"});
  const ModelSpec spec = Build(config);
  const int64_t layers = spec.arch.layers();
  const std::string q = "model.layers.{L}.self_attn.q_proj";
  EXPECT_EQ(LayersWith(spec, q, QuantScheme::kPlain), (std::vector<int64_t>{0}));
  EXPECT_EQ(LayersWith(spec, q, QuantScheme::kNvfp4).size(), static_cast<size_t>(layers - 1));
  EXPECT_EQ(LayersWith(spec, "model.layers.{L}.self_attn.o_proj", QuantScheme::kPlain).size(),
            static_cast<size_t>(layers));
  EXPECT_EQ(spec.arch.quantization, "nvfp4");
  EXPECT_TRUE(spec.arch.fp8_cache);
}

TEST(ApplyQuantization, LeavesNormsRoutersEmbeddingsAndHeadsAlone) {
  nlohmann::json config = TinyQwen3Moe();
  config["quantization_config"] = {{"quant_method", "fp8"}, {"weight_block_size", {4, 4}}};
  const ModelSpec spec = Build(config);
  int quantized = 0;
  for (const ModuleRow& row : spec.table.rows) {
    if (row.role == Role::kRouter || row.form == Form::kTensor) {
      EXPECT_TRUE(row.quant.plain()) << row.name;
    } else {
      EXPECT_EQ(row.quant.scheme, QuantScheme::kFp8Block) << row.name;
      EXPECT_EQ(row.quant.scale_dtype, DType::kBF16) << row.name;  // as this family publishes
      ++quantized;
    }
  }
  EXPECT_EQ(quantized, 7);
}

TEST(ApplyQuantization, TheExpertsNameTheWhole) {
  nlohmann::json config = TinyQwen3Moe();
  config["quantization_config"] = {{"quant_algo", "MIXED_PRECISION"},
                                   {"quantized_layers",
                                    {{"model.layers.0.self_attn.q_proj", {{"quant_algo", "FP8"}}},
                                     {"model.layers.1.mlp.experts", {{"quant_algo", "NVFP4"}}}}}};
  EXPECT_EQ(Build(config).arch.quantization, "nvfp4");
}

TEST(ApplyQuantization, AttentionScalesExistWhereTheMethodHasThem) {
  const auto scales = [](const nlohmann::json& quantization) {
    nlohmann::json config = TinyDense();
    if (!quantization.is_null()) config["quantization_config"] = quantization;
    int64_t rows = 0;
    for (const ModuleRow& row : Build(config).table.rows) {
      rows += row.attention_scale != AttentionScale::kNone;
    }
    return rows;
  };
  EXPECT_EQ(scales(nullptr), 0);
  EXPECT_EQ(scales(testing_support::Awq(true)), 0);
  EXPECT_EQ(scales({{"quant_method", "fp8"}}), 4);
  EXPECT_EQ(scales(ModelOpt("FP8", {})), 4);
}

}  // namespace
}  // namespace shardplan
