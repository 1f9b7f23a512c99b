// What vLLM says when it refuses to start, word for word.
#ifndef SHARDPLAN_ENGINE_VLLM_REFUSALS_H_
#define SHARDPLAN_ENGINE_VLLM_REFUSALS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "engine/vllm/kv_cache.h"
#include "shardplan/base/bytes.h"

namespace shardplan::vllm {

// GiB as vLLM prints them: round(x, 2) as a Python float, so "12.3" and "80.0", never "12.30".
std::string FormatGib(Bytes bytes);

// v1/core/kv_cache_utils.py (d29f7f5c).
std::string NoKvMemoryText();

// The refusal of a window on one stage, or nothing where one request fits. The sentence about the
// estimated maximum is left out where not even one token fits, as vLLM does; where not even the
// null block does, it is NoKvMemoryText.
std::optional<std::string> WindowRefusal(const KvLayout& layout, size_t stage, Bytes available,
                                         int64_t max_model_len, bool null_block_reserved);

// --max-model-len auto that finds no window.
std::string NoWindowText();

// v1/worker/utils.py:request_memory (d29f7f5c).
std::string FreeMemoryText(int64_t device, Bytes free, Bytes total, double utilization,
                           Bytes requested);

// Whether full graphs of a model with state layers want more blocks than there are: one for every
// sequence (config/compilation.py, d29f7f5c).
bool GraphsNeedMoreBlocks(const Context& context, int64_t num_blocks);
std::string StateBlocksText(int64_t max_num_seqs, int64_t blocks);

}  // namespace shardplan::vllm

#endif  // SHARDPLAN_ENGINE_VLLM_REFUSALS_H_
