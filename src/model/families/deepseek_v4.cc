// DeepSeek-V4 Flash and Pro: one latent head per token that is keys and values, kept for a window
// and beyond it in compressed entries; an indexer where entries stand for four tokens; residual
// streams mixed by hyper-connections; experts in FP4 and every other linear in FP8, with E8M0
// scales.
//
// Names and totals are the published checkpoints' (Flash: 69,187 tensors, 290,944,616,402
// parameters); fused parameters and order are vLLM's (vllm/models/deepseek_v4, d29f7f5c). The
// names of the MTP layers are the reference code's; what they hold follows from the totals.
#include "model/families/decoder_parts.h"
#include "model/families/deepseek_v4_table.h"

namespace shardplan::families {
namespace {

// FP8 in blocks for every linear, with E8M0 scales. "expert_dtype" says what the routed experts
// are, FP4 where nothing does; FP8 experts come with F32 scales everywhere. NVIDIA's exports have
// the experts of the stack, not of the MTP modules, in NVFP4
// (vllm/models/deepseek_v4/quant_config.py, d29f7f5c). SGLang's FP8 conversions keep the reference
// code's model_type, have no "expert_dtype", and E8M0 scales.
void ReadFormats(ConfigReader& config, V4Shape* shape, Architecture* a) {
  if (!config.Has("quantization_config")) return;
  ConfigReader q = config.Object("quantization_config");
  const std::vector<int64_t> block = q.IntList("weight_block_size", 1, 1 << 16);
  if (q.ok() && block.size() != 2) q.Contradiction("weight_block_size", "expected two numbers");
  const std::string algorithm = q.StringOr("moe_quant_algo", "");
  if (!algorithm.empty() && algorithm != "NVFP4") {
    q.Contradiction("moe_quant_algo", "expected NVFP4");
  }
  config.Adopt(q);
  if (!config.ok()) return;
  const bool converted = config.StringOr("model_type", "deepseek_v4") != "deepseek_v4";
  const std::string experts = config.StringOr("expert_dtype", converted ? "fp8" : "fp4");
  if (config.ok() && experts != "fp4" && experts != "fp8") {
    config.Contradiction("expert_dtype", "expected fp4 or fp8");
  }
  QuantFormat& linear = shape->linear;
  linear = {QuantScheme::kFp8Block, block[0], block[1]};
  linear.short_names = true;
  const bool told = config.Has("expert_dtype") && experts == "fp8";
  linear.scale_dtype = told ? DType::kF32 : DType::kF8E8M0;
  QuantFormat fp4 = {QuantScheme::kMxfp4, 1, 32};
  fp4.short_names = true;
  shape->expert = shape->draft_expert = experts == "fp4" ? fp4 : linear;
  if (algorithm == "NVFP4" && experts == "fp4") {
    shape->expert = {QuantScheme::kNvfp4, 1, 16};
    shape->expert.input_scale = true;
  }
  // What decides the kernels of the routed experts.
  a->quantization = experts == "fp8" ? "fp8" : algorithm.empty() ? "mxfp4" : "nvfp4";
}

// Tokens that a compressed entry stands for, of each layer; the lists in the configs have entries
// for the MTP layers, too.
void ReadCompression(ConfigReader& config, int64_t layers, Architecture* a) {
  a->attention.assign(static_cast<size_t>(layers), AttentionKind::kMla);
  a->window = config.Dim("sliding_window");
  a->compress_ratio = config.IntList("compress_ratios", 0, 1 << 20);
  if (config.ok() && static_cast<int64_t>(a->compress_ratio.size()) < layers) {
    config.Contradiction("compress_ratios", "fewer entries than layers");
  }
  a->compress_ratio.resize(static_cast<size_t>(layers));
  for (int64_t layer = 0; layer < layers; ++layer) {
    if (a->compress_ratio[static_cast<size_t>(layer)] == kIndexedRatio) {
      a->indexer_layers.push_back(layer);
    }
  }
}

}  // namespace

Result<ModelSpec> BuildDeepseekV4(ConfigReader& config, const Assumptions& assumptions) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  V4Shape shape;
  const int64_t layers = ReadDecoder(config, &a);
  a.heads = config.Dim("num_attention_heads");
  a.kv_heads = config.DimOr("num_key_value_heads", 1);
  a.head_dim = a.v_head_dim = config.Dim("head_dim");
  const int64_t rope = config.Dim("qk_rope_head_dim");
  if (config.ok() && rope >= a.head_dim) {
    config.Contradiction("qk_rope_head_dim", "expected less than head_dim");
  }
  // One latent is keys and values; no projection makes either of it.
  const int64_t nope = a.head_dim - rope;
  a.mla = {config.Dim("q_lora_rank"), nope, nope, rope, a.head_dim, false};
  a.rotary = ReadRotary(config, rope, a.max_positions);
  a.rotary.yarn = true;  // plain layers have a table of the same kind, scaled by one
  shape.o_rank = config.Dim("o_lora_rank");
  shape.o_groups = config.Dim("o_groups");
  a.residual_streams = config.Int("hc_mult", 1, 64);
  a.indexer = {config.Dim("index_n_heads"), config.Dim("index_head_dim"), config.Dim("index_topk")};
  ReadCompression(config, layers, &a);
  ReadExperts(config, "n_routed_experts", "moe_intermediate_size", layers, &a);
  a.moe.shared_experts = config.Int("n_shared_experts", 1, 1024);
  a.moe.shared_intermediate = a.moe.intermediate * a.moe.shared_experts;
  a.mtp_layers = config.IntOr("num_nextn_predict_layers", 0, 64, 0);
  shape.hash_layers = config.Int("num_hash_layers", 0, kMaxLayers);
  if (config.ok() && shape.hash_layers > layers) {
    config.Contradiction("num_hash_layers", "more layers than the model has");
  }
  if (config.ok() && a.heads * a.head_dim % shape.o_groups != 0) {
    config.Contradiction("o_groups", "does not divide the width of the heads");
  }
  ReadFormats(config, &shape, &a);
  if (!config.ok()) return tl::unexpected(config.error());

  spec.quantization_read = true;
  spec.table.layer_prefix = "model.layers.{L}.";
  AddDeepseekV4(&spec.table, a, shape, assumptions.mtp.value_or(true) ? a.mtp_layers : 0);
  return spec;
}

}  // namespace shardplan::families
