// Defaults of what the KV cache hangs on: dtype, attention backend, block, states, batches ahead.
#ifndef SHARDPLAN_ENGINE_VLLM_RESOLVE_CACHE_H_
#define SHARDPLAN_ENGINE_VLLM_RESOLVE_CACHE_H_

#include <vector>

#include "engine/vllm/context.h"
#include "shardplan/base/finding.h"
#include "shardplan/base/result.h"

namespace shardplan::vllm {

// Fills in the cache's fields of `resolved`, whose dtype and max_num_batched_tokens are there
// already. Fails with kUsage for values vLLM would not accept; what vLLM refuses for this model or
// card is a finding.
Status ResolveCache(const Context& context, Resolved* resolved, std::vector<Finding>* findings);

// Whether the second model runner serves this model.
// Source: VllmConfig.use_v2_model_runner (d29f7f5c).
bool UsesV2Runner(const Context& context);

}  // namespace shardplan::vllm

#endif  // SHARDPLAN_ENGINE_VLLM_RESOLVE_CACHE_H_
