#include <gtest/gtest.h>

#include <set>

#include "support/example_model.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::BuildError;
using testing_support::ExampleConfig;

const char kFlash[] = "deepseek-ai__DeepSeek-V4-Flash";
const char kPro[] = "deepseek-ai__DeepSeek-V4-Pro";

TEST(DeepseekV4, Architecture) {
  const Architecture a = Build(ExampleConfig(kFlash)).arch;
  EXPECT_EQ(a.family, "deepseek-v4");
  EXPECT_EQ(a.layers(), 43);
  EXPECT_EQ(a.quantization, "mxfp4");
  EXPECT_EQ(a.window, 128);
  EXPECT_EQ(a.residual_streams, 4);
  // One latent of 512 per token: 448 values and 64 rotary ones.
  EXPECT_EQ(a.CountKind(AttentionKind::kMla, 0, 43), 43);
  EXPECT_EQ(a.mla.latent_width(), 512);
  EXPECT_EQ(a.mla.rope_head_dim, 64);
  ASSERT_EQ(a.compress_ratio.size(), 43u);
  EXPECT_EQ(a.compress_ratio[1], 0);
  EXPECT_EQ(a.compress_ratio[42], 4);
  EXPECT_EQ(a.indexer_layers.size(), 21u);
  EXPECT_EQ(a.indexer.top_k, 512);
  EXPECT_EQ(a.rotary.positions, 1'048'576);
  EXPECT_EQ(Build(ExampleConfig(kPro)).arch.indexer.top_k, 1024);
}

std::set<std::string> NamesOf(const ModelSpec& spec, int64_t layer) {
  std::set<std::string> names;
  for (const ModuleRow& row : spec.table.rows) {
    if (layer >= 0 ? !row.layers.Contains(layer) : !row.layers.empty()) continue;
    if (row.experts > 0) continue;
    ForEachTensor(row, layer, [&](std::string name, const StoredTensor&) { names.insert(name); });
  }
  return names;
}

TEST(DeepseekV4, LayersByWhatTheyCompress) {
  const ModelSpec spec = Build(ExampleConfig(kFlash));
  const auto has = [&](int64_t layer, const std::string& name) {
    return NamesOf(spec, layer).contains("layers." + std::to_string(layer) + "." + name);
  };
  EXPECT_FALSE(has(1, "attn.compressor.wkv.weight"));
  EXPECT_TRUE(has(2, "attn.compressor.wkv.weight"));
  EXPECT_TRUE(has(2, "attn.indexer.compressor.ape"));
  EXPECT_TRUE(has(3, "attn.compressor.ape"));
  EXPECT_FALSE(has(3, "attn.indexer.wq_b.weight"));
  // The first three layers route by token.
  EXPECT_TRUE(has(2, "ffn.gate.tid2eid"));
  EXPECT_FALSE(has(2, "ffn.gate.bias"));
  EXPECT_TRUE(has(3, "ffn.gate.bias"));
}

TEST(DeepseekV4, NamesWithoutAPrefix) {
  const ModelSpec spec = Build(ExampleConfig(kFlash));
  const std::set<std::string> outside = NamesOf(spec, -1);
  for (const char* name : {"embed.weight", "head.weight", "norm.weight", "hc_head_fn",
                           "mtp.0.e_proj.weight", "mtp.0.e_proj.scale", "mtp.0.hc_head_scale",
                           "mtp.0.attn.attn_sink", "mtp.0.ffn.gate.bias"}) {
    EXPECT_TRUE(outside.contains(name)) << name;
  }
}

TEST(DeepseekV4, ExpertsAreFp4AndTheRestFp8) {
  for (const ModuleRow& row : Build(ExampleConfig(kFlash)).table.rows) {
    const std::vector<StoredTensor> tensors = StoredTensors(row);
    if (row.role == Role::kRoutedExpert) {
      EXPECT_EQ(tensors[0].suffix, ".weight");
      EXPECT_EQ(tensors[0].dtype, DType::kI8);
      EXPECT_EQ(tensors[0].shape.dims[1], row.shape.dims[1] / 2);
      EXPECT_EQ(tensors[1].suffix, ".scale");
      EXPECT_EQ(tensors[1].dtype, DType::kF8E8M0);
      EXPECT_EQ(tensors[1].shape.dims[1], row.shape.dims[1] / 32);
    } else if (row.name.ends_with("wo_b")) {
      EXPECT_EQ(tensors[0].dtype, DType::kF8E4M3);
      EXPECT_EQ(tensors[1].suffix, ".scale");
      EXPECT_EQ(tensors[1].shape, (Shape{32, 64}));
    } else if (row.name.ends_with("weights_proj")) {
      EXPECT_EQ(tensors.size(), 1u);
    }
  }
}

const ModuleRow& Expert(const ModelSpec& spec) {
  for (const ModuleRow& row : spec.table.rows) {
    if (row.role == Role::kRoutedExpert) return row;
  }
  return spec.table.rows.front();
}

TEST(DeepseekV4, Fp8Experts) {
  nlohmann::json config = ExampleConfig(kFlash);
  config["expert_dtype"] = "fp8";
  ModelSpec spec = Build(config);
  EXPECT_EQ(spec.arch.quantization, "fp8");
  EXPECT_EQ(Expert(spec).quant.scheme, QuantScheme::kFp8Block);
  EXPECT_EQ(Expert(spec).quant.scale_dtype, DType::kF32);
  // FP4 is the engine's default.
  config.erase("expert_dtype");
  EXPECT_EQ(Build(config).arch.quantization, "mxfp4");
  // SGLang's conversions of the checkpoint.
  config["model_type"] = "deepseek_ref";
  spec = Build(config);
  EXPECT_EQ(spec.arch.quantization, "fp8");
  EXPECT_EQ(Expert(spec).quant.scale_dtype, DType::kF8E8M0);
  EXPECT_EQ(Totals(spec.table).parameters, 290'944'616'402);
}

// NVIDIA's exports: the stack's experts in NVFP4, the MTP module's as they were.
TEST(DeepseekV4, Nvfp4Experts) {
  nlohmann::json config = ExampleConfig(kFlash);
  config["quantization_config"]["moe_quant_algo"] = "NVFP4";
  const ModelSpec spec = Build(config);
  EXPECT_EQ(spec.arch.quantization, "nvfp4");
  for (const ModuleRow& row : spec.table.rows) {
    if (row.experts == 0) continue;
    EXPECT_EQ(row.quant.scheme,
              row.role == Role::kDraft ? QuantScheme::kMxfp4 : QuantScheme::kNvfp4);
  }
  EXPECT_EQ(Totals(spec.table).parameters, 290'944'616'402);
}

TEST(DeepseekV4, UnquantizedTables) {
  nlohmann::json config = ExampleConfig(kFlash);
  config.erase("quantization_config");
  const ModelSpec spec = Build(config);
  EXPECT_EQ(spec.arch.quantization, "");
  EXPECT_EQ(Totals(spec.table).parameters, Totals(spec.table).elements);
}

TEST(DeepseekV4, Refusals) {
  nlohmann::json config = ExampleConfig(kFlash);
  config["expert_dtype"] = "fp2";
  EXPECT_EQ(BuildError(config), "config.json: expert_dtype: expected fp4 or fp8");
  config = ExampleConfig(kFlash);
  config["quantization_config"]["moe_quant_algo"] = "FP6";
  EXPECT_EQ(BuildError(config), "config.json: quantization_config.moe_quant_algo: expected NVFP4");
  config = ExampleConfig(kFlash);
  config["compress_ratios"] = {0, 4};
  EXPECT_EQ(BuildError(config), "config.json: compress_ratios: fewer entries than layers");
  config = ExampleConfig(kFlash);
  config["num_hash_layers"] = 44;
  EXPECT_EQ(BuildError(config), "config.json: num_hash_layers: more layers than the model has");
  config = ExampleConfig(kFlash);
  config["qk_rope_head_dim"] = 512;
  EXPECT_EQ(BuildError(config), "config.json: qk_rope_head_dim: expected less than head_dim");
  config = ExampleConfig(kFlash);
  config["o_groups"] = 7;
  EXPECT_EQ(BuildError(config), "config.json: o_groups: does not divide the width of the heads");
}

}  // namespace
}  // namespace shardplan
