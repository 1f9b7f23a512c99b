#include "engine/vllm/sparse_attention.h"

#include <algorithm>

#include "shardplan/base/units.h"

namespace shardplan::vllm {
namespace {

constexpr int64_t kFineRatio = 4;         // DeepSeek-V4's indexed layers: tokens of an entry
constexpr int64_t kGatheredPrompts = 40;  // full windows whose keys are gathered at once
// VLLM_SPARSE_INDEXER_MAX_LOGITS_MB, as the engine has it by default.
constexpr int64_t kDummyLogits = 512 * kMiB;

// Query heads that the sparse kernels take of a rank.
int64_t PaddedHeads(int64_t local) { return local <= 64 ? 64 : 128; }

}  // namespace

int64_t SparseWorkspace(const Context& c) {
  const Architecture& a = *c.arch;
  if (a.indexer.heads == 0) return 0;
  const bool compressed = !a.compress_ratio.empty();
  const int64_t window = c.resolved.max_model_len;
  // One FP8 key and its scale.
  const int64_t keys =
      kGatheredPrompts * window * (a.indexer.head_dim + 4) / (compressed ? kFineRatio : 1);
  if (!compressed) return keys;
  const int64_t tokens = c.resolved.max_num_batched_tokens;
  const int64_t latents = 4 * (CeilDiv(window, kFineRatio) + a.window + tokens) * a.head_dim * 2;
  const int64_t chosen = tokens * (RoundUp(a.indexer.top_k + a.window, 128) + 1) * 4;
  return std::max(keys, latents + chosen);
}

int64_t SparseAttentionPhase(const Context& c, int64_t dense) {
  const Architecture& a = *c.arch;
  if (a.indexer.heads == 0) return dense;
  const int64_t tokens = c.resolved.max_num_batched_tokens;
  // Queries in bf16 and once more in FP8.
  const int64_t indexer = 3 * tokens * a.indexer.heads * a.indexer.head_dim + kDummyLogits;
  if (a.compress_ratio.empty()) return dense + indexer;
  const int64_t local = a.heads / c.sizes.tp;
  const int64_t padded = PaddedHeads(local);
  const int64_t row = 2 * tokens * a.head_dim;
  const int64_t down = 4 * tokens * (a.mla.q_lora_rank + a.head_dim);
  const int64_t compressor = 8 * row;
  const int64_t unpadded = local < padded ? local * row : 0;
  return 2 * padded * row + unpadded + 2 * tokens * a.hidden + down + compressor + indexer;
}

}  // namespace shardplan::vllm
