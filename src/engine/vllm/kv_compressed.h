// DeepSeek-V4's caches: a window of latents, compressed latents, and the states of compressors.
#ifndef SHARDPLAN_ENGINE_VLLM_KV_COMPRESSED_H_
#define SHARDPLAN_ENGINE_VLLM_KV_COMPRESSED_H_

#include <vector>

#include "engine/vllm/kv_spec.h"

namespace shardplan::vllm {

// Tokens of a block in a compressed layer; the one block size that its kernels take.
inline constexpr int64_t kCompressedBlock = 256;

// As CollectCaches, for a model with compress_ratio. Every layer keeps a window; a layer of ratio
// r > 0 besides one latent per r tokens and what its compressor has not finished, and a layer of
// ratio 4 the same for its indexer. All pages are multiples of 576 B.
// Source: vllm/models/deepseek_v4 and vllm/v1/kv_cache_interface.py (d29f7f5c).
std::vector<KvBucket> CollectCompressed(const Context& context);

}  // namespace shardplan::vllm

#endif  // SHARDPLAN_ENGINE_VLLM_KV_COMPRESSED_H_
