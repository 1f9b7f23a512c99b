// Drafts in the format of the speculators library, as vLLM reads them.
#ifndef SHARDPLAN_MODEL_SPECULATORS_H_
#define SHARDPLAN_MODEL_SPECULATORS_H_

#include <nlohmann/json.hpp>
#include <string>

#include "shardplan/base/result.h"
#include "shardplan/model/architecture.h"

namespace shardplan {

// Whether a config.json is in that format: it names a `speculators_model_type`.
bool IsSpeculators(const nlohmann::json& config);

// The config that vLLM makes of one: `transformer_layer_config`, with what the draft's kind adds
// and the class that vLLM loads. `speculators_config` and `embed_requires_grad` stay in it: they
// say that it was one, and what its files hold. Fails with kUnsupported for a kind or a model_type
// that vLLM refuses, and with kInvalidInput where a field that it needs is missing.
// Source: vllm/transformers_utils/configs/speculators/algos.py and base.py (main of November 2026;
// the first releases with the format read EAGLE-3 heads alone).
Result<nlohmann::json> FromSpeculators(const nlohmann::json& config, const std::string& subject);

// What the format says of the draft's use; empty fields where it doesn't.
void ReadSpeculatorsUse(const nlohmann::json& config, DraftShape* draft);

}  // namespace shardplan

#endif  // SHARDPLAN_MODEL_SPECULATORS_H_
