#include "engine/sglang/cell.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/sglang/parallel.h"
#include "shardplan/base/file.h"

namespace shardplan::sglang {
namespace {

constexpr int64_t kIndexerBlock = 128;  // values of an indexer key or latent that share a scale

// Whether a layer has a cache of its own that this stage holds.
bool OwnsCache(const Architecture& a, int64_t layer) {
  const auto i = static_cast<size_t>(layer);
  return a.cache_of_layer.empty() || a.cache_of_layer[i] == layer;
}

int64_t CountOwned(const Architecture& a, const StageRange& stage, bool windowed) {
  int64_t count = 0;
  for (int64_t layer = stage.first; layer < stage.end(); ++layer) {
    const AttentionKind kind = a.attention[static_cast<size_t>(layer)];
    const bool window = kind == AttentionKind::kSliding || kind == AttentionKind::kChunked;
    count += KeepsTokens(kind) && window == windowed && OwnsCache(a, layer);
  }
  return count * a.attentions_per_layer;
}

// Bytes of `values` values, and of their scales.
int64_t Stored(const KvFormat& f, int64_t values) {
  return values * f.bits / 8 + (f.scale_block > 0 ? values / f.scale_block : 0);
}

int64_t HeadsOnRank(const Context& c, int64_t heads) {
  const int64_t ranks = std::max<int64_t>(1, AttentionTp(c.args) / c.args.dcp_size);
  return std::max<int64_t>(1, heads / ranks);
}

// A latent and its rotary key. Sparse attention's FP8 layout keeps the rotary part in 16 bits and a
// scale for every 128 values. Source: calculate_mla_kv_cache_dim (0bda0b168).
int64_t LatentBytes(const Architecture& a, const KvFormat& f) {
  if (a.indexer.heads > 0 && f.bits == 8 && !f.raw_latent) {
    return a.mla.kv_lora_rank + a.mla.kv_lora_rank / kIndexerBlock * 4 + a.mla.rope_head_dim * 2;
  }
  return Stored(f, a.mla.latent_width());
}

// One key of 8 bits and its scale, in every layer with an indexer of its own. Layers that reuse
// another's choice are left out unless the cache is copied elsewhere.
int64_t IndexerBytes(const Context& c, const StageRange& stage) {
  const Architecture& a = *c.arch;
  if (a.indexer.heads == 0) return 0;
  const bool all = c.args.enable_hierarchical_cache ||
                   c.args.disaggregation_mode != Disaggregation::kNone || a.indexer_layers.empty();
  int64_t layers = stage.count;
  if (!all) {
    layers = std::count_if(a.indexer_layers.begin(), a.indexer_layers.end(), [&](int64_t layer) {
      return layer >= stage.first && layer < stage.end();
    });
  }
  return layers * (a.indexer.head_dim + a.indexer.head_dim / kIndexerBlock * 4);
}

// DeepSeek-V4: windows of all layers, latents of four and of 128 tokens, the indexer's keys, and
// the compressors' rings. The states of layers that compress 128 tokens belong to requests.
double CompressedBytes(const Context& c, const StageRange& stage) {
  const Architecture& a = *c.arch;
  const auto begin = a.compress_ratio.begin() + stage.first;
  const auto fine = static_cast<double>(std::count(begin, begin + stage.count, 4));
  const auto coarse = static_cast<double>(std::count(begin, begin + stage.count, 128));
  // nope in FP8, the rotary part in 16 bits, scales: 584 of a head of 512.
  const auto latent = static_cast<double>(a.mla.nope_head_dim + 2 * a.mla.rope_head_dim + 8);
  const auto indexer =
      static_cast<double>(a.indexer.head_dim + a.indexer.head_dim / kIndexerBlock * 4);
  const double ratio = c.args.swa_full_tokens_ratio;
  const double ring = (c.args.is_speculative() ? 16.0 : 8.0) / static_cast<double>(a.window);
  const double state = 2 * 2 * 4 * static_cast<double>(a.head_dim + a.indexer.head_dim);
  double bytes = ratio * latent * static_cast<double>(stage.count) + latent * fine / 4 +
                 latent * coarse / 128 + indexer * fine / 4 + ratio * ring * state * fine;
  if (c.args.is_speculative())
    bytes *= static_cast<double>(stage.count + 1) / static_cast<double>(stage.count);
  return bytes;
}

// A draft that shares the target's shape adds layers; one with a cache of its own adds its tokens'
// bytes, whole on every rank of a context-parallel group.
void AddDraft(const Context& c, TokenCell* cell, double per_layer) {
  const ServerArgs& a = c.args;
  if (a.draft_layers > 0 && per_layer > 0) {
    cell->bytes += per_layer * static_cast<double>(a.draft_layers);
    cell->draft += per_layer * static_cast<double>(a.draft_layers);
    cell->full += Bytes(static_cast<int64_t>(per_layer) * a.draft_layers);
    cell->rule += fmt::format("; {} draft layers", a.draft_layers);
  }
  if (a.draft_bytes_per_token > 0) {
    const int64_t bytes = a.draft_bytes_per_token * a.dcp_size;
    cell->bytes += static_cast<double>(bytes);
    cell->draft += static_cast<double>(bytes);
    cell->full += Bytes(bytes);
    cell->rule += fmt::format("; a draft of {} B", FormatCount(bytes));
  }
}

TokenCell LatentCell(const Context& c, const KvFormat& f, const StageRange& stage) {
  const Architecture& a = *c.arch;
  TokenCell cell;
  cell.full_layers = CountOwned(a, stage, false);
  const int64_t latent = LatentBytes(a, f);
  const int64_t indexer = cell.full_layers > 0 ? IndexerBytes(c, stage) : 0;
  cell.full = Bytes(latent * cell.full_layers + indexer);
  cell.bytes = static_cast<double>(cell.full.count());
  cell.rule = fmt::format("a latent of {} B × {} layers", latent, cell.full_layers);
  if (indexer > 0) cell.rule += fmt::format(" + indexer keys of {} B", indexer);
  const int64_t draft_indexer =
      a.indexer.heads > 0 ? a.indexer.head_dim + a.indexer.head_dim / kIndexerBlock * 4 : 0;
  AddDraft(c, &cell, cell.full_layers > 0 ? static_cast<double>(latent + draft_indexer) : 0.0);
  return cell;
}

TokenCell HeadCell(const Context& c, const KvFormat& f, const StageRange& stage) {
  const Architecture& a = *c.arch;
  TokenCell cell;
  cell.full_layers = CountOwned(a, stage, false);
  cell.window_layers = CountOwned(a, stage, true);
  const KvShape full{a.kv_heads, a.head_dim, a.v_head_dim > 0 ? a.v_head_dim : a.head_dim};
  const KvShape window = a.sliding_kv.value_or(full);
  const int64_t heads = HeadsOnRank(c, full.kv_heads);
  const int64_t per_full = Stored(f, heads * (full.head_dim + full.v_head_dim));
  const int64_t per_window =
      Stored(f, HeadsOnRank(c, window.kv_heads) * (window.head_dim + window.v_head_dim));
  cell.full = Bytes(per_full * cell.full_layers);
  cell.window = Bytes(per_window * cell.window_layers);
  const bool all_windows = cell.full_layers == 0 && cell.window_layers > 0;
  const double ratio = all_windows ? 1.0 : c.args.swa_full_tokens_ratio;
  cell.bytes =
      static_cast<double>(cell.full.count()) + ratio * static_cast<double>(cell.window.count());
  cell.rule = fmt::format("{} of {} KV heads × ({} + {}) × {} layers × {} bits", heads,
                          full.kv_heads, full.head_dim, full.v_head_dim, cell.full_layers, f.bits);
  if (cell.window_layers > 0) {
    cell.rule += fmt::format(" + {} × {} layers with a window × {} B", ratio, cell.window_layers,
                             per_window);
  }
  if (f.bits == 4) {
    // Prefill spreads one layer's values to FP8 in a workspace that the layers share.
    cell.full += Bytes(heads * full.head_dim * 2);
    cell.bytes += static_cast<double>(heads * full.head_dim * 2);
  }
  AddDraft(c, &cell, static_cast<double>(per_full));
  return cell;
}

}  // namespace

Result<KvFormat> ResolveKvFormat(const Context& c, std::string_view backend) {
  std::string name = c.args.kv_cache_dtype;
  const bool sparse = c.arch->indexer.heads > 0 && c.arch->compress_ratio.empty();
  const bool blackwell = c.gpu->capability >= 100;
  if (name == "auto") {
    if (sparse) {
      name = blackwell ? "fp8_e4m3" : "bfloat16";
    } else if (c.arch->fp8_cache) {
      name = "fp8_e4m3";  // the checkpoint's scales ask for it
    } else {
      name = c.dtype == DType::kF16 ? "float16" : c.dtype == DType::kF32 ? "float32" : "bfloat16";
    }
  }
  if (name == "bf16") name = "bfloat16";
  KvFormat f;
  f.name = name;
  if (name == "float32") {
    f.bits = 32;
  } else if (name == "fp8_e4m3" || name == "fp8_e5m2") {
    f.bits = 8;
    f.raw_latent = sparse && (blackwell || backend == "trtllm" || IsHip(*c.gpu));
  } else if (name == "mxfp8") {
    f.bits = 8;
    f.scale_block = 32;
  } else if (name == "nvfp4" || name == "fp4_mx_block16") {
    f.bits = 4;
    f.scale_block = 16;
  } else if (name != "bfloat16" && name != "float16") {
    return Fail(ErrorCode::kUsage, "--kv-cache-dtype " + Printable(name),
                "expected auto, bf16, bfloat16, fp8_e5m2, fp8_e4m3, mxfp8, nvfp4 or "
                "fp4_mx_block16");
  }
  return f;
}

TokenCell CellOf(const Context& c, const KvFormat& format, const StageRange& stage) {
  const Architecture& a = *c.arch;
  if (!a.compress_ratio.empty()) {
    TokenCell cell;
    cell.full_layers = stage.count;
    cell.bytes = CompressedBytes(c, stage);
    cell.full = Bytes(static_cast<int64_t>(std::llround(cell.bytes)));
    cell.rule = "windows, compressed latents, indexer keys and rings of DeepSeek-V4";
    return cell;
  }
  return UsesMla(a) ? LatentCell(c, format, stage) : HeadCell(c, format, stage);
}

}  // namespace shardplan::sglang
