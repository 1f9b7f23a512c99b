// --speculative-config: a JSON object, read with vLLM's own names.
#ifndef SHARDPLAN_ENGINE_VLLM_SPECULATIVE_CONFIG_H_
#define SHARDPLAN_ENGINE_VLLM_SPECULATIVE_CONFIG_H_

#include <string>

#include "shardplan/base/result.h"
#include "shardplan/engine/settings.h"

namespace shardplan::vllm {

// Reads `{"method": "mtp", "num_speculative_tokens": 3}`. The methods' old names ("deepseek_mtp",
// "qwen3_next_mtp", …) become "mtp", as in vLLM; where a model is named and no method, its path may
// tell the method. Fails with kUsage for text that is no JSON object, a value of another type or
// out of range, an unknown method, what vLLM's own checks of n-grams, suffixes and keys of one
// method refuse, and a key that is close to one that vLLM knows; other unknown keys are kept in
// `unknown`. A draft's path outweighs the methods draft_model and medusa, as in vLLM.
// Source: vllm/config/speculative.py (SpeculativeConfig, main of November 2026).
Result<Speculation> ParseSpeculation(const std::string& text);

// What the path that the engine is given tells it of the method: "eagle-", "eagle3", "dflash" and
// "dspark" in it outweigh none, draft_model, medusa and mlp_speculator. `asked` keeps those.
void HeedPath(const std::string& path, Speculation* speculation);

}  // namespace shardplan::vllm

#endif  // SHARDPLAN_ENGINE_VLLM_SPECULATIVE_CONFIG_H_
