// What attention that chooses its keys (DeepSeek-V3.2, GLM-5, DeepSeek-V4) takes in the profile
// run.
#ifndef SHARDPLAN_ENGINE_VLLM_SPARSE_ATTENTION_H_
#define SHARDPLAN_ENGINE_VLLM_SPARSE_ATTENTION_H_

#include <cstdint>

#include "engine/vllm/context.h"

namespace shardplan::vllm {

// Bytes that the indexer's gathered keys, and DeepSeek-V4's gathered latents, need of the workspace
// that all kernels share and that never shrinks; 0 without an indexer. Grows with the window.
// Source: v1/attention/backends/mla/indexer.py, sparse_attn_indexer.py (d29f7f5c).
int64_t SparseWorkspace(const Context& context);

// The attention phase of an indexed model, where `dense` is that of the same projections without
// an indexer: scores of the dummy batch, queries of the indexer; DeepSeek-V4 pads queries and
// outputs to 64 or 128 heads and compresses. `dense` itself where there is no indexer.
// Source: vllm/models/deepseek_v32, vllm/models/deepseek_v4 (d29f7f5c).
int64_t SparseAttentionPhase(const Context& context, int64_t dense);

}  // namespace shardplan::vllm

#endif  // SHARDPLAN_ENGINE_VLLM_SPARSE_ATTENTION_H_
