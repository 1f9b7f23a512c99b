// vLLM's KV cache sizing: specs, groups, blocks, admission and the printed tokens.
#ifndef SHARDPLAN_ENGINE_VLLM_KV_CACHE_H_
#define SHARDPLAN_ENGINE_VLLM_KV_CACHE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "engine/vllm/context.h"
#include "shardplan/base/bytes.h"

namespace shardplan::vllm {

// Layers of one kind that share block tables. Groups are formed over the whole model and then
// projected on each stage.
struct KvGroup {
  AttentionKind kind = AttentionKind::kFull;
  std::vector<int64_t> layers;

  int64_t CountIn(const StageRange& stage) const;
};

// The layout of the cache: everything but how much memory there is.
struct KvLayout {
  int64_t block_tokens = 0;  // tokens of one block in an attention layer, after hybrid alignment
  Bytes page;                // one block in one layer
  Bytes attention_token;     // one token in one attention layer
  Bytes state;               // one request's state in one state layer, before padding
  std::vector<KvGroup> groups;
  std::vector<Bytes> bytes_per_block;  // per stage: page × the longest group there
  int64_t dcp = 1;
  int64_t state_blocks = 0;  // blocks of each state group that one request holds

  // Σ over groups of the blocks that one request of `tokens` holds.
  int64_t BlocksPerRequest(int64_t tokens) const;
};

// Source: vllm/platforms/interface.py:_align_hybrid_block_size and
// vllm/v1/core/kv_cache_utils.py:_get_kv_cache_groups_uniform_page_size (d29f7f5c).
KvLayout MakeKvLayout(const Context& context);

// Blocks, concurrency and tokens, as vLLM prints them.
struct KvCapacity {
  int64_t num_blocks = 0;
  int64_t blocks_per_request = 0;
  double max_concurrency = 0;
  int64_t tokens = 0;  // "GPU KV cache size: N tokens"
};

// `available` per stage. num_blocks is the minimum over stages and never negative.
KvCapacity ComputeCapacity(const KvLayout& layout, const std::vector<Bytes>& available,
                           int64_t max_model_len);

// Bytes that `requests` full windows need on a stage, the permanent null block included where this
// version reserves it.
Bytes NeededBytes(const KvLayout& layout, size_t stage, int64_t max_model_len, int64_t requests,
                  bool null_block_reserved);

// The largest window of which one request fits on every stage; 0 when not even one token does.
// A binary search, as vLLM's own estimate.
int64_t LargestWindow(const KvLayout& layout, const std::vector<Bytes>& available,
                      int64_t max_model_len, bool null_block_reserved);

}  // namespace shardplan::vllm

#endif  // SHARDPLAN_ENGINE_VLLM_KV_CACHE_H_
