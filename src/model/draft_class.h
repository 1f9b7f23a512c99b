// Which class an engine builds out of a draft's config.
#ifndef SHARDPLAN_MODEL_DRAFT_CLASS_H_
#define SHARDPLAN_MODEL_DRAFT_CLASS_H_

#include <string>
#include <string_view>

namespace shardplan {

// The class for a draft whose config names `architecture` (empty: none) and `model_type`, loaded
// for `method`. Heads often carry the name of the model they were made for: an EAGLE head of
// Llama's says LlamaForCausalLM. Other names stay as they are.
// Source: vllm/transformers_utils/configs/eagle.py and vllm/config/speculative.py (main of November
// 2026): "Eagle" or "Eagle3" is put before the name, and a Medusa head is one whatever it says.
std::string DraftClass(std::string_view method, std::string_view architecture,
                       std::string_view model_type);

}  // namespace shardplan

#endif  // SHARDPLAN_MODEL_DRAFT_CLASS_H_
