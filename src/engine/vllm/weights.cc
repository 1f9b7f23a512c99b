#include "engine/vllm/weights.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/vllm/all2all.h"
#include "engine/vllm/eplb.h"
#include "sharding/weight_cache.h"
#include "shardplan/base/units.h"

namespace shardplan::vllm {
namespace {

// Multiples to which the MXFP4 backends pad the per-rank intermediate size and the hidden width.
// Source: fused_moe/oracle/mxfp4.py:mxfp4_round_up_hidden_size_and_intermediate_size (d29f7f5c).
struct Tile {
  int64_t intermediate = 1;
  int64_t width = 1;
};

Tile TileOf(const Context& c) {
  if (c.arch->quantization != "mxfp4") return {};
  const std::string& backend = c.resolved.moe_backend;
  if (backend == "marlin" || backend == "flashinfer_trtllm") return {128, 256};
  if (backend == "deep_gemm" || backend == "flashinfer_cutlass") return {128, 128};
  return {64, 1};
}

int64_t LayersWithMoe(const Architecture& arch, const StageRange& stage) {
  int64_t count = 0;
  for (int64_t layer = stage.first; layer < stage.end(); ++layer) count += arch.is_moe(layer);
  return count;
}

// DeepSeek-V4 has one table for layers that keep a window only and one for those that compress.
// Source: vllm/models/deepseek_v4/common/rope.py (d29f7f5c).
int64_t RotaryTables(const Architecture& arch, const StageRange& stage) {
  if (arch.compress_ratio.empty()) return arch.rotary.tables;
  const auto begin = arch.compress_ratio.begin() + stage.first;
  const int64_t plain = std::count(begin, begin + stage.count, 0);
  return (plain > 0 ? 1 : 0) + (plain < stage.count ? 1 : 0);
}

bool HasFusedDecode(int capability) {
  return capability == 90 || (capability >= 100 && capability <= 121);
}

// Cards without FP8 arithmetic run block FP8 through Marlin: the scale of a block becomes one bf16
// per 128 inputs of every output, in × out / 64 bytes in place of the block scales.
Bytes MarlinScales(const std::vector<DeviceParam>& params) {
  Bytes more;
  for (const DeviceParam& weight : params) {
    if (weight.dtype != DType::kF8E4M3) continue;
    for (const DeviceParam& scale : params) {
      // Of blocks a scale has the weight's dimensions; one a projection or an output has fewer.
      const bool of_blocks =
          scale.name == weight.name + "_scale_inv" ||
          (scale.name == weight.name + "_scale" &&
           scale.shape.dims.size() == weight.shape.dims.size() && scale.shape.dims.back() > 1);
      if (of_blocks) more += Bytes(weight.bytes.count() / 64) - scale.bytes;
    }
  }
  return more;
}

// What torch's allocator takes beyond the tensors: one of 10 MiB or more gets a segment of its own,
// rounded up to 2 MiB, and a rest of at most 1 MiB is not split off
// (c10/cuda/CUDACachingAllocator).
Bytes SegmentRest(Bytes tensor) {
  if (tensor.count() < 10 * kMiB) return Bytes();
  const int64_t rest = RoundUp(tensor.count(), 2 * kMiB) - tensor.count();
  return rest <= kMiB ? Bytes(rest) : Bytes();
}

// FlashInfer's kernel for packed 4-bit experts leaves the parameters that only an activation order
// fills: the order and its inverse, for both projections.
Bytes UnusedActivationOrder(const Context& c, const std::vector<DeviceParam>& params) {
  Bytes unused;
  if (c.arch->quantization != "int4" || c.resolved.moe_backend != "flashinfer_trtllm") {
    return unused;
  }
  for (const DeviceParam& param : params) {
    // [experts, inputs ÷ 8, outputs] in int32.
    const bool packed =
        param.name.ends_with("w13_weight_packed") || param.name.ends_with("w2_weight_packed");
    if (!packed) continue;
    unused += Bytes(param.shape.dims[0] * param.shape.dims[1] * 8 * 2 * 4);
  }
  return unused;
}

// Triton's MXFP4 kernels on Hopper pad what a weight is contracted over to a multiple of 256.
Bytes TritonMxfp4Padding(const Context& c, const StageRange& stage, const DeviceWeights& weights) {
  Bytes padding;
  if (c.arch->family != "gpt-oss" || c.resolved.moe_backend != "triton") return padding;
  for (int64_t layer = stage.first; layer < stage.end(); ++layer) {
    for (const DeviceParam& param : weights.layer(layer).params) {
      const bool packed = param.name.ends_with(".w13_weight") || param.name.ends_with(".w2_weight");
      if (!packed || param.dtype != DType::kU8) continue;
      const std::vector<int64_t>& dims = param.shape.dims;  // two values a byte
      padding += Bytes(dims[0] * dims[1] * (RoundUp(dims[2], 128) - dims[2]));
    }
  }
  return padding;
}

}  // namespace

ExpertPadding PadExpert(const Context& c) {
  ExpertPadding p;
  p.whole = c.arch->moe.intermediate;
  p.unpadded = c.sizes.expert_parallel ? p.whole : p.whole / c.sizes.expert_ranks();
  p.model_rule = p.unpadded;
  // Kimi's class raises a slice below 256 to 256 (vllm/models/kimi_k3/common/moe_padding.py); the
  // older rule looked at the TP size alone.
  const int64_t over =
      c.profile->expert_padding_over == PaddingOver::kTp ? c.sizes.tp : c.sizes.expert_ranks();
  if (IsKimiClass(*c.arch) && !c.sizes.expert_parallel && over > 1 &&
      p.whole / over < c.profile->expert_padding_min) {
    p.model_rule = c.profile->expert_padding_min * over / c.sizes.expert_ranks();
  }
  p.padded = RoundUp(p.model_rule, TileOf(c).intermediate);
  return p;
}

ShardingRules RulesFor(const Context& c, int64_t ep_rank) {
  ShardingRules rules;
  rules.sizes = c.sizes;
  rules.vocabulary_multiple = c.profile->vocabulary_multiple;
  rules.replicate_shared = c.resolved.replicate_shared;
  rules.vision_on_device = c.resolved.vision_on_device;
  rules.vision_sharded = c.resolved.vision_sharded;
  const MoeShape& moe = c.arch->moe;
  if (moe.experts > 0) {
    rules.expert_intermediate = PadExpert(c).padded;
    const int64_t width = moe.latent > 0 ? moe.latent : c.arch->hidden;
    rules.expert_width =
        RoundUp(RoundedWidth(c.resolved.all2all_backend, c.sizes, width), TileOf(c).width);
    // FlashInfer's kernels take the input scales of the whole layer (golden rows of
    // capability 10.0); Marlin those of the experts it holds.
    rules.all_input_scales =
        c.arch->quantization == "nvfp4" && c.resolved.moe_backend.starts_with("flashinfer");
    // Linear placement: the first E % EP ranks hold one more.
    const int64_t ep = c.sizes.ep();
    const int64_t experts = PhysicalExperts(c);
    rules.local_experts = experts / ep + (ep_rank < experts % ep ? 1 : 0);
  }
  return rules;
}

std::vector<ExtraBytes> Buffers(const Context& c, const StageRange& stage, int64_t) {
  const Architecture& a = *c.arch;
  std::vector<ExtraBytes> out;
  auto add = [&](std::string name, int64_t bytes, std::string rule, std::string source) {
    if (bytes > 0)
      out.push_back({std::move(name), Bytes(bytes), std::move(rule), std::move(source)});
  };
  if (a.rotary.dim > 0) {
    // Positions are the model's, not the window's; YaRN keeps its table in fp32.
    const int64_t element = a.rotary.yarn ? 4 : BitsOf(c.resolved.dtype) / 8;
    const int64_t dim = RotaryTables(a, stage) * a.rotary.dim + a.rotary.other_dim;
    add("rotary_emb.cos_sin_cache", a.rotary.positions * dim * element,
        c.Say("{} positions × {} × {} B, shared by the layers", FormatCount(a.rotary.positions),
              dim, element),
        "public start-up logs count it as weights (v0.10 to v0.31)");
  }
  if (a.indexer.heads > 0) {
    // Made with the model on every stage, for all indexers of it.
    add("indexer.topk_indices_buffer", c.resolved.max_num_batched_tokens * a.indexer.top_k * 4,
        c.Say("{} batched tokens × {} chosen keys × int32",
              FormatCount(c.resolved.max_num_batched_tokens), a.indexer.top_k),
        "vllm/models/deepseek_v32, deepseek_v4 (d29f7f5c)");
  }
  const int64_t kda = a.CountKind(AttentionKind::kKda, stage.first, stage.count);
  if (a.family == "kimi-k3" && kda > 0 && c.resolved.dtype == DType::kBF16 &&
      HasFusedDecode(c.gpu->capability)) {
    const int64_t width = a.kda.width() / c.sizes.tp;
    add("self_attn.decode_conv1d_weight", kda * 3 * width * a.kda.conv_kernel * 4,
        c.Say("{} KDA layers: the convolution weights once more, for the fused decode kernel", kda),
        "vllm/models/kimi_k3/nvidia/kda.py (d29f7f5c)");
    add("self_attn.decode_norm_weight", kda * a.kda.head_dim * 4,
        c.Say("{} KDA layers × {} × 4 B", kda, a.kda.head_dim),
        "vllm/models/kimi_k3/nvidia/kda.py (d29f7f5c)");
  }
  // q, k, v and probability scales of each attention layer; Kimi's class keeps a constant one
  // besides, DeepSeek-V4's none at all.
  int64_t attention = 0;
  for (int64_t layer = stage.first; layer < stage.end() && a.compress_ratio.empty(); ++layer) {
    attention += KeepsTokens(a.attention[static_cast<size_t>(layer)]);
  }
  const int64_t scales = IsKimiClass(a) ? 5 : 4;
  attention *= a.attentions_per_layer;
  add("attention scales", attention * scales * 4,
      c.Say("{} attention layers × {} × 4 B", attention, scales),
      "vllm/model_executor/layers/attention (d29f7f5c)");
  if (c.sizes.ep() > 1) {
    const int64_t layers = LayersWithMoe(a, stage);
    const int64_t experts = PhysicalExperts(c);
    add("experts._expert_map", layers * experts * 4,
        c.Say("{} MoE layers × {} experts × int32", layers, experts),
        "vllm/model_executor/layers/fused_moe (d29f7f5c)");
  }
  if (c.resolved.vision_on_device) {
    add("vision_tower.patch_embed.pos_emb.time_weight",
        a.vision.time_positions * a.vision.hidden * 4, "temporal position table, fp32",
        "vllm/models/kimi_k3 (d29f7f5c)");
    constexpr int64_t kRows = 8192;
    const int64_t element = BitsOf(c.resolved.dtype) / 8;
    add("visual.rotary_pos_emb.cos_sin_cache", kRows * a.vision.rotary_dim * element,
        c.Say("the tower's own: {} positions × {} × {} B", FormatCount(kRows), a.vision.rotary_dim,
              element),
        "vllm/model_executor/models/qwen3_vl.py (d29f7f5c)");
    const int64_t tokens = c.resolved.max_num_batched_tokens;
    add("deepstack_input_embeds", a.vision.deepstack_levels * tokens * a.hidden * element,
        c.Say("{} levels × {} batched tokens × {} × {} B, kept on every stage",
              a.vision.deepstack_levels, FormatCount(tokens), a.hidden, element),
        "vllm/model_executor/models/qwen3_vl.py (d29f7f5c)");
  }
  return out;
}

std::vector<ExtraBytes> PostLoad(const Context& c, const StageRange& stage,
                                 const DeviceWeights& weights) {
  const Architecture& a = *c.arch;
  std::vector<ExtraBytes> out;
  // MLA absorbs kv_b_proj into the query and output projections. From an unquantized one these are
  // views; a quantized one is dequantized once.
  const int64_t mla = a.CountKind(AttentionKind::kMla, stage.first, stage.count);
  int64_t dequantized = 0;
  Bytes marlin_scales, unused_order;
  for (int64_t layer = stage.first; layer < stage.end(); ++layer) {
    for (const DeviceParam& param : weights.layer(layer).params) {
      const bool kv_b = param.name.starts_with("self_attn.") &&
                        param.name.find(".kv_b_proj.") != std::string::npos;
      dequantized +=
          kv_b && (param.name.ends_with(".qweight") || param.name.ends_with(".weight_packed") ||
                   (param.name.ends_with(".weight") && BitsOf(param.dtype) <= 8));
    }
    if (c.gpu->capability < 89) marlin_scales += MarlinScales(weights.layer(layer).params);
    unused_order += UnusedActivationOrder(c, weights.layer(layer).params);
  }
  if (dequantized > 0) {
    const int64_t heads = a.heads / c.sizes.tp;
    const int64_t bytes = dequantized * a.mla.kv_lora_rank * heads *
                          (a.mla.nope_head_dim + a.mla.v_head_dim) * (BitsOf(c.resolved.dtype) / 8);
    out.push_back({"W_UK_T, W_UV", Bytes(bytes),
                   c.Say("{} MLA layers: kv_b_proj of {} heads dequantized", dequantized, heads),
                   "vllm/model_executor/layers/attention/mla_attention.py (d29f7f5c)"});
  }
  // The loader of LongCat-Flash copies both halves of kv_b_proj, though nothing reads the copies.
  if (a.family == "longcat-flash") {
    const int64_t copies = mla * a.attentions_per_layer;
    const int64_t heads = a.heads / c.sizes.tp;
    const int64_t each = heads * (a.mla.nope_head_dim + a.mla.v_head_dim) * a.mla.kv_lora_rank *
                         (BitsOf(c.resolved.dtype) / 8);
    out.push_back({"w_kc, w_vc", Bytes(copies) * each,
                   c.Say("{} attentions: kv_b_proj of {} heads once more", copies, heads),
                   "vllm/model_executor/models/longcat_flash.py (055e47c2)"});
  }
  if (const Bytes padding = TritonMxfp4Padding(c, stage, weights); padding > Bytes()) {
    out.push_back({"MXFP4 experts, Triton layout", padding,
                   "packed inputs padded to a multiple of 256",
                   "public start-up logs of gpt-oss-20b and 120b on H100 (v0.11.0)"});
  }
  if (marlin_scales > Bytes()) {
    out.push_back({"FP8 scales, Marlin layout", marlin_scales,
                   "block scales spread to one per 128 inputs of every output",
                   "a public start-up log of MiniMax-M2.7 on A100 (v0.20)"});
  }
  if (unused_order > Bytes()) {
    out.push_back({"activation order of packed experts", unused_order,
                   "created for every expert, dropped by Marlin, kept by FlashInfer",
                   "compressed_tensors_moe_wna16_marlin.py; public start-up logs of Kimi-K2.6 on "
                   "B200 (v0.20)"});
  }
  // FP8 MoE on Hopper and data-centre Blackwell sits above the tensor sum by about the expert
  // scales; not on the cards of 12.0.
  const int capability = c.gpu->capability;
  if (a.quantization == "fp8" && capability >= 90 && capability < 120) {
    Bytes scales;
    for (int64_t layer = stage.first; layer < stage.end(); ++layer) {
      for (const DeviceParam& param : weights.layer(layer).params) {
        if (param.role == Role::kRoutedExpert && param.name.ends_with("_scale_inv")) {
          scales += param.bytes;
        }
      }
    }
    if (scales > Bytes()) {
      out.push_back(
          {"expert scales, kernel layout", scales,
           "as if the block scales of the routed experts were kept twice",
           "public start-up logs of FP8 MoE models on H100, H200, B200 and B300 (v0.19, v0.20)"});
    }
  }
  // These backends keep a module-level workspace inside what "Model loading took" counts.
  if (mla > 0 && (c.resolved.attention_backend == "FLASHINFER_MLA" ||
                  c.resolved.attention_backend == "CUTLASS_MLA")) {
    out.push_back({"MLA backend workspace", Bytes(128 * kMiB),
                   "one 128 MiB workspace for " + c.resolved.attention_backend,
                   "public start-up logs of Kimi-K2.5 on B200 and H200"});
  }
  return out;
}

Bytes AllocatorRounding(const Context& c, const StageRange& stage, const DeviceWeights& weights) {
  Bytes rest;
  if (!c.profile->allocator_rounding) return rest;
  const auto add = [&](const std::vector<DeviceParam>& params) {
    for (const DeviceParam& param : params) {
      rest += SegmentRest(Bytes(param.bytes.count() / param.blocks)) * param.blocks;
    }
  };
  for (int64_t layer = stage.first; layer < stage.end(); ++layer) add(weights.layer(layer).params);
  if (stage.first == 0) add(weights.first_stage);
  if (stage.end() == c.arch->layers()) add(weights.last_stage);
  add(weights.every_stage);
  return rest;
}

std::shared_ptr<const DeviceWeights> WeightsOn(const Context& c, const ShardingRules& rules) {
  return WeightsFrom(c.weights, *c.arch, *c.table, static_cast<int>(c.resolved.dtype), rules);
}

std::shared_ptr<const TensorTable> TableFor(const TensorTable& table, DType from, DType to) {
  if (from == to) return {std::shared_ptr<const TensorTable>(), &table};
  return std::make_shared<const TensorTable>(WithDType(table, from, to));
}

TensorTable WithDType(const TensorTable& table, DType from, DType to) {
  TensorTable out = table;
  if (from == to) return out;
  for (ModuleRow& row : out.rows) {
    if (row.device_dtype == from) row.device_dtype = to;
  }
  return out;
}

}  // namespace shardplan::vllm
