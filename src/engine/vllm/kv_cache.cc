#include "engine/vllm/kv_cache.h"

#include <algorithm>

namespace shardplan::vllm {
namespace {

// Bytes of one token in one attention layer on this rank. MLA keeps one latent that every TP rank
// holds whole; GQA divides its heads and replicates one where TP exceeds them.
Bytes AttentionToken(const Context& c, AttentionKind kind) {
  const Architecture& a = *c.arch;
  const int64_t element = c.resolved.kv_element_bytes;
  if (kind == AttentionKind::kMla) return Bytes(a.mla.latent_width() * element);
  const int64_t heads = std::max<int64_t>(1, a.kv_heads / c.sizes.tp);
  return Bytes(heads * (a.head_dim + a.v_head_dim) * element);
}

// A KDA layer's state of one request: convolution inputs in the model's dtype, recurrent state
// always fp32. Source: mamba_utils.py:MambaStateShapeCalculator.
Bytes StateBytes(const Context& c) {
  const LinearAttentionShape& kda = c.arch->kda;
  const int64_t heads = kda.heads / c.sizes.tp;
  const int64_t conv =
      (kda.conv_kernel - 1) * 3 * heads * kda.head_dim * (BitsOf(c.resolved.dtype) / 8);
  const int64_t recurrent = heads * kda.head_dim * kda.head_dim * 4;
  return Bytes(conv + recurrent);
}

std::vector<KvGroup> MakeGroups(const Architecture& arch) {
  // Buckets in order of their first layer.
  std::vector<KvGroup> buckets;
  for (int64_t layer = 0; layer < arch.layers(); ++layer) {
    const AttentionKind kind = arch.attention[static_cast<size_t>(layer)];
    auto it = std::find_if(buckets.begin(), buckets.end(),
                           [&](const KvGroup& bucket) { return bucket.kind == kind; });
    if (it == buckets.end()) {
      buckets.push_back({kind, {}});
      it = buckets.end() - 1;
    }
    it->layers.push_back(layer);
  }
  if (buckets.size() < 2) return buckets;
  int64_t smallest = static_cast<int64_t>(buckets.front().layers.size());
  int64_t largest = smallest;
  for (const KvGroup& bucket : buckets) {
    const auto size = static_cast<int64_t>(bucket.layers.size());
    smallest = std::min(smallest, size);
    largest = std::max(largest, size);
  }
  // Nearly equal buckets are padded to the larger one instead of being split.
  const int64_t group_size = 2 * largest < 3 * smallest ? largest : smallest;
  std::vector<KvGroup> groups;
  for (const KvGroup& bucket : buckets) {
    const int64_t parts = CeilDiv(static_cast<int64_t>(bucket.layers.size()), group_size);
    for (int64_t part = 0; part < parts; ++part) {
      KvGroup group{bucket.kind, {}};
      for (size_t i = static_cast<size_t>(part); i < bucket.layers.size();
           i += static_cast<size_t>(parts)) {
        group.layers.push_back(bucket.layers[i]);
      }
      groups.push_back(std::move(group));
    }
  }
  return groups;
}

}  // namespace

int64_t KvGroup::CountIn(const StageRange& stage) const {
  return std::lower_bound(layers.begin(), layers.end(), stage.end()) -
         std::lower_bound(layers.begin(), layers.end(), stage.first);
}

int64_t KvLayout::BlocksPerRequest(int64_t tokens) const {
  int64_t blocks = 0;
  for (const KvGroup& group : groups) {
    blocks += group.kind == AttentionKind::kKda ? state_blocks
                                                : CeilDiv(CeilDiv(tokens, dcp), block_tokens);
  }
  return blocks;
}

KvLayout MakeKvLayout(const Context& c) {
  KvLayout layout;
  layout.dcp = c.sizes.dcp;
  layout.groups = MakeGroups(*c.arch);
  const bool mla = c.arch->has_kind(AttentionKind::kMla);
  layout.attention_token = AttentionToken(c, mla ? AttentionKind::kMla : AttentionKind::kFull);
  layout.block_tokens = c.resolved.block_size;
  if (c.arch->has_kind(AttentionKind::kKda)) {
    layout.state = StateBytes(c);
    if (c.arch->is_hybrid()) {
      // The attention block grows until its page holds one state.
      int64_t align = std::max(c.resolved.kernel_block, c.resolved.block_size);
      if (mla) align = std::max(align, c.profile->mla_hybrid_min_block);
      const int64_t chunk = align * layout.attention_token.count();
      const int64_t block = align * CeilDiv(layout.state.count(), chunk);
      layout.block_tokens = std::max(layout.block_tokens, block);
    }
    // align keeps two blocks and, from FlashKDA on, a prefill checkpoint; none keeps one.
    layout.state_blocks =
        c.resolved.mamba_cache_mode == "align" ? 2 + c.profile->prefill_checkpoint_blocks : 1;
  }
  layout.page = layout.attention_token * layout.block_tokens;
  if (layout.page < layout.state) layout.page = layout.state;
  for (const StageRange& stage : c.stages) {
    int64_t longest = 0;
    for (const KvGroup& group : layout.groups) {
      longest = std::max(longest, group.CountIn(stage));
    }
    layout.bytes_per_block.push_back(layout.page * longest);
  }
  return layout;
}

KvCapacity ComputeCapacity(const KvLayout& layout, const std::vector<Bytes>& available,
                           int64_t max_model_len) {
  KvCapacity capacity;
  bool first = true;
  for (size_t stage = 0; stage < available.size(); ++stage) {
    const Bytes block = layout.bytes_per_block[stage];
    if (block <= Bytes()) continue;
    const int64_t blocks = std::max<int64_t>(0, FloorDiv(available[stage], block));
    capacity.num_blocks = first ? blocks : std::min(capacity.num_blocks, blocks);
    first = false;
  }
  capacity.blocks_per_request = layout.BlocksPerRequest(max_model_len);
  // The same operations on doubles as vLLM's, so that the printed digits agree.
  capacity.max_concurrency =
      static_cast<double>(capacity.num_blocks) / static_cast<double>(capacity.blocks_per_request);
  capacity.tokens =
      static_cast<int64_t>(capacity.max_concurrency * static_cast<double>(max_model_len));
  return capacity;
}

Bytes NeededBytes(const KvLayout& layout, size_t stage, int64_t max_model_len, int64_t requests,
                  bool null_block_reserved) {
  const int64_t blocks = internal::CheckedMul(layout.BlocksPerRequest(max_model_len), requests) +
                         (null_block_reserved ? 1 : 0);
  return layout.bytes_per_block[stage] * blocks;
}

int64_t LargestWindow(const KvLayout& layout, const std::vector<Bytes>& available,
                      int64_t max_model_len, bool null_block_reserved) {
  auto fits = [&](int64_t tokens) {
    for (size_t stage = 0; stage < available.size(); ++stage) {
      if (NeededBytes(layout, stage, tokens, 1, null_block_reserved) > available[stage]) {
        return false;
      }
    }
    return true;
  };
  int64_t low = 0;
  int64_t high = max_model_len;
  while (low < high) {
    const int64_t middle = low + (high - low + 1) / 2;
    if (fits(middle)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

}  // namespace shardplan::vllm
