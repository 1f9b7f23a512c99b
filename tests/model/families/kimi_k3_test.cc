#include <gtest/gtest.h>

#include <map>

#include "support/example_model.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::BuildError;
using testing_support::ExampleConfig;

TEST(KimiK3, Architecture) {
  const Architecture a = Build(ExampleConfig("kimi-k3")).arch;
  EXPECT_EQ(a.family, "kimi-k3");
  EXPECT_EQ(a.layers(), 93);
  EXPECT_EQ(a.CountKind(AttentionKind::kMla, 0, 93), 24);
  EXPECT_EQ(a.CountKind(AttentionKind::kKda, 0, 93), 69);
  EXPECT_EQ(a.attention[3], AttentionKind::kMla);
  EXPECT_EQ(a.attention[91], AttentionKind::kMla);
  EXPECT_EQ(a.attention[92], AttentionKind::kMla);
  EXPECT_EQ(a.rotary.dim, 0);  // NoPE
  EXPECT_EQ(a.moe.latent, 3584);
  EXPECT_EQ(a.moe.shared_intermediate, 6144);
  EXPECT_EQ(a.mla.latent_width(), 576);
  EXPECT_TRUE(a.is_hybrid());
}

// Bytes by role, as an audit of the published headers lists them.
TEST(KimiK3, BytesByRole) {
  std::map<Role, Bytes> bytes;
  const ModelSpec spec = Build(ExampleConfig("kimi-k3"));
  for (const ModuleRow& row : spec.table.rows) {
    for (const StoredTensor& tensor : StoredTensors(row)) {
      bytes[row.role] += *SizeOf(tensor.dtype, tensor.shape) * row.Count();
    }
  }
  EXPECT_EQ(bytes[Role::kRoutedExpert], Bytes(1361370415104 + 85085650944));
  EXPECT_EQ(bytes[Role::kLinearAttention], Bytes(61258257408));
  EXPECT_EQ(bytes[Role::kAttention], Bytes(11145412608));
  EXPECT_EQ(bytes[Role::kSharedExpert], Bytes(24310185984));
  EXPECT_EQ(bytes[Role::kLatentProjection], Bytes(9454620672));
  EXPECT_EQ(bytes[Role::kDenseMlp], Bytes(1453326336));
  EXPECT_EQ(bytes[Role::kRouter], Bytes(1181745152 + 329728));
  EXPECT_EQ(bytes[Role::kVision], Bytes(802428928));
  EXPECT_EQ(bytes[Role::kProjector], Bytes(92289024));
}

std::string ErrorWith(const nlohmann::json& changes) {
  nlohmann::json config = ExampleConfig("kimi-k3");
  config.merge_patch(changes);
  return BuildError(config);
}

TEST(KimiK3, LayerListsThatOverlapOrLeaveGaps) {
  nlohmann::json config = ExampleConfig("kimi-k3");
  nlohmann::json& linear = config["text_config"]["linear_attn_config"];
  linear["kda_layers"].push_back(4);
  EXPECT_EQ(BuildError(config),
            "config.json: text_config.linear_attn_config.kda_layers: layer 4 is listed twice among "
            "full_attn_layers and kda_layers");
  config = ExampleConfig("kimi-k3");
  config["text_config"]["linear_attn_config"]["kda_layers"].erase(0);
  EXPECT_EQ(BuildError(config),
            "config.json: text_config.linear_attn_config.kda_layers: layer 1 is in neither "
            "full_attn_layers nor kda_layers");
  config = ExampleConfig("kimi-k3");
  config["text_config"]["linear_attn_config"]["kda_layers"].push_back(94);
  EXPECT_EQ(BuildError(config),
            "config.json: text_config.linear_attn_config.kda_layers: expected a list of integers "
            "from 1 to 93, found 94");
}

TEST(KimiK3, AbsurdValues) {
  EXPECT_EQ(ErrorWith({{"text_config", {{"num_hidden_layers", -1}}}}),
            "config.json: text_config.num_hidden_layers: expected an integer from 1 to 4,096, "
            "found -1");
  EXPECT_EQ(ErrorWith({{"text_config", {{"hidden_size", nullptr}}}}),
            "config.json: text_config.hidden_size: expected an integer from 1 to 16,777,216, found "
            "nothing");
  EXPECT_EQ(ErrorWith({{"text_config", {{"num_experts_per_token", 897}}}}),
            "config.json: text_config.num_experts_per_token: more experts a token than experts");
  EXPECT_EQ(ErrorWith({{"text_config", {{"first_k_dense_replace", 94}}}}),
            "config.json: text_config.first_k_dense_replace: more dense layers than layers");
  EXPECT_EQ(ErrorWith({{"vision_config", nullptr}}),
            "config.json: vision_config: expected an object, found nothing");
  EXPECT_EQ(ErrorWith({{"vision_config", {{"patch_size", 0}}}}),
            "config.json: vision_config.patch_size: expected an integer from 1 to 16,777,216, "
            "found 0");
}

TEST(KimiK3, TheLatentNormIsAlwaysStored) {
  EXPECT_EQ(ErrorWith({{"text_config", {{"latent_moe_use_norm", false}}}}),
            "config.json: text_config.latent_moe_use_norm: expected true: the latent norm is "
            "always stored");
}

TEST(KimiK3, OtherQuantizationFormats) {
  nlohmann::json config = ExampleConfig("kimi-k3");
  config["text_config"].erase("quantization_config");
  EXPECT_EQ(Build(config).arch.quantization, "");
  config = ExampleConfig("kimi-k3");
  nlohmann::json& quant = config["text_config"]["quantization_config"];
  quant["format"] = "pack-quantized";
  quant["config_groups"]["group_0"]["format"] = "pack-quantized";
  quant["config_groups"]["group_0"]["weights"]["type"] = "int";
  EXPECT_EQ(Build(config).arch.quantization, "int4");
  quant["config_groups"]["group_0"]["weights"]["num_bits"] = 3;
  EXPECT_EQ(BuildError(config),
            "config.json: compressed-tensors weights of type int in 3 bits, strategy group, group "
            "32 are not known; plan the unquantized checkpoint, or one in FP8, NVFP4, MXFP4, AWQ, "
            "GPTQ or compressed-tensors");
}

}  // namespace
}  // namespace shardplan
