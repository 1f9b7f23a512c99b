// vLLM's KV cache sizing: layout, blocks, admission and the printed tokens.
#ifndef SHARDPLAN_ENGINE_VLLM_KV_CACHE_H_
#define SHARDPLAN_ENGINE_VLLM_KV_CACHE_H_

#include <cstdint>
#include <vector>

#include "engine/vllm/context.h"
#include "engine/vllm/kv_groups.h"
#include "shardplan/base/bytes.h"

namespace shardplan::vllm {

// The layout of the cache: everything but how much memory there is.
struct KvLayout {
  int64_t block_tokens = 0;  // tokens of one block in an attention layer, after hybrid alignment
  Bytes page;                // one block in one layer, the widest
  Bytes state;               // one request's state in one state layer, before padding
  KvArrangement arrangement = KvArrangement::kNone;
  std::vector<KvGroup> groups;
  std::vector<Bytes> bytes_per_block;  // per stage
  std::vector<Bytes> admission_block;  // per stage, as the check of a request's needs has it
  int64_t dcp = 1;

  // Blocks that one request of `tokens` holds, of one group and Σ over all.
  int64_t BlocksOf(const KvGroup& group, int64_t tokens) const;
  int64_t BlocksPerRequest(int64_t tokens) const;
};

// Allocates, but builds no text: a search calls this for every candidate. Requires tokens below
// 2^31 in the settings, as ResolveSettings checks.
KvLayout MakeKvLayout(const Context& context);

// What a stage's blocks are counted of: `available`, or as much as the blocks take that
// --num-gpu-blocks-override asks for, whatever memory there is.
// Source: vllm/v1/core/kv_cache_utils.py (d29f7f5c).
Bytes PoolBytes(const Context& context, const KvLayout& layout, size_t stage, Bytes available);

// What the check of a request compares with its needs: the pool, or what is available where this
// version checks before it looks at the override.
Bytes AdmittedBytes(const Context& context, const KvLayout& layout, size_t stage, Bytes available);

// Blocks, concurrency and tokens, as vLLM prints them.
struct KvCapacity {
  int64_t num_blocks = 0;
  int64_t blocks_per_request = 0;
  double max_concurrency = 0;
  int64_t tokens = 0;  // "GPU KV cache size: N tokens"
};

// `available` per stage. num_blocks is the minimum over stages and never negative.
// `printed` is what this version's log line counts: concurrency × window, or blocks.
KvCapacity ComputeCapacity(const KvLayout& layout, const std::vector<Bytes>& available,
                           int64_t max_model_len,
                           TokensPrinted printed = TokensPrinted::kConcurrency);

// Bytes that `requests` full windows need on a stage, the permanent null block included where this
// version reserves it.
Bytes NeededBytes(const KvLayout& layout, size_t stage, int64_t max_model_len, int64_t requests,
                  bool null_block_reserved);

// The largest window up to `max_model_len` of which one request fits on every stage; 0 when not
// even one token does. A binary search, as vLLM's own estimate.
int64_t LargestWindow(const KvLayout& layout, const std::vector<Bytes>& available,
                      int64_t max_model_len, bool null_block_reserved);

// The same for one stage.
int64_t LargestWindowOn(const KvLayout& layout, size_t stage, Bytes available,
                        int64_t max_model_len, bool null_block_reserved);

}  // namespace shardplan::vllm

#endif  // SHARDPLAN_ENGINE_VLLM_KV_CACHE_H_
