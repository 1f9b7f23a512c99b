// What one layer of a model caches, in vLLM's terms: its specs.
#ifndef SHARDPLAN_ENGINE_VLLM_KV_SPEC_H_
#define SHARDPLAN_ENGINE_VLLM_KV_SPEC_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "engine/vllm/context.h"
#include "shardplan/base/bytes.h"

namespace shardplan::vllm {

// Attentions of a stage that look at tokens; other layers keep a state, or are no attention at all.
int64_t AttentionLayers(const Architecture& arch, const StageRange& stage);

// Kinds of cache. A layer may have several: a latent and the keys of its indexer.
enum class KvKind {
  kFull,           // keys and values of every token
  kLatent,         // one latent per token, or per few tokens where it is compressed
  kIndexer,        // keys of a sparse-attention indexer
  kSliding,        // keys and values of the last tokens
  kChunked,        // keys and values of the tokens of a chunk
  kState,          // one state per request
  kSlidingLatent,  // latents of the last tokens (DeepSeek-V4)
};

// One token's latent in the packed fp8_ds_mla layout: 512 FP8 values, a scale for each 128 of them,
// and 64 rotary values in 16 bits. Source: vllm/v1/kv_cache_interface.py (d29f7f5c).
inline constexpr int64_t kDsMlaToken = 512 + 4 * 4 + 64 * 2;

// An indexer's key of one token: FP8 with an fp32 scale for each 128 values, whatever the cache's
// dtype. Source: vllm/model_executor/models/deepseek_v2.py:DeepseekV32IndexerCache (d29f7f5c).
Bytes IndexerToken(const Architecture& arch);

// Keeps something for every token of a request, so that such caches may share a block table.
bool KeepsEveryToken(KvKind kind);

// One block of one layer's cache, and how many blocks a request holds: extra blocks, and one for
// each `block_tokens` tokens of its first `reach`.
struct KvSpec {
  static constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

  KvKind kind = KvKind::kFull;
  AttentionKind attention = AttentionKind::kFull;  // of the layer that caches
  int64_t block_tokens = 0;                        // 0: the blocks don't grow with the request
  int64_t window = 0;                              // tokens of a window or chunk; 0: no limit
  int64_t reach = kUnlimited;                      // the window and what is in flight beyond it
  int64_t extra_blocks = 0;
  Bytes page;           // one block in one layer, padding included
  bool strided = true;  // the backend finds a page by its stride, so a page may be padded

  int64_t BlocksFor(int64_t tokens) const {
    if (block_tokens == 0) return extra_blocks;
    return CeilDiv(tokens < reach ? tokens : reach, block_tokens) + extra_blocks;
  }

  friend bool operator==(const KvSpec&, const KvSpec&) = default;
};

// Caches of one spec and the layers they belong to, ascending; a layer of several attentions stands
// here once for each.
struct KvBucket {
  KvSpec spec;
  std::vector<int64_t> layers;

  int64_t CountIn(const StageRange& stage) const;
};

// Sizes of blocks once attention and states have been made to share them.
struct KvBlocks {
  int64_t attention = 0;     // tokens of a block in an attention layer
  int64_t state_tokens = 0;  // tokens between two states that are kept (mode all); 0: no such
  Bytes state;               // one request's state in one layer, as it is
  Bytes state_page;          // and padded
};

// The block of an attention layer grows until its page holds one state; the state is padded to it.
// Source: vllm/platforms/interface.py:_align_hybrid_block_size (d29f7f5c).
KvBlocks AlignBlocks(const Context& context);

// One bucket per spec, in order of its first layer. Layers that read another layer's cache have
// none; draft layers come last.
// Source: get_kv_cache_spec of vllm/model_executor/layers/{attention,mamba} (d29f7f5c).
std::vector<KvBucket> CollectCaches(const Context& context, const KvBlocks& blocks);

}  // namespace shardplan::vllm

#endif  // SHARDPLAN_ENGINE_VLLM_KV_SPEC_H_
