// What SGLang says when memory does not suffice, word for word.
#ifndef SHARDPLAN_ENGINE_SGLANG_REFUSALS_H_
#define SHARDPLAN_ENGINE_SGLANG_REFUSALS_H_

#include <cstdint>
#include <string>

#include "engine/sglang/profile.h"
#include "engine/sglang/state_pool.h"

namespace shardplan::sglang {

// A Python float: the shortest text that reads back as the same number, "0.85", "1.0".
std::string FormatPython(double value);

// The least --mem-fraction-static that leaves anything after the weights, as SGLang rounds it: up
// to the next thousandth.
double SuggestedFraction(double minimum);

// Nothing is left for the cache: weights took `available` of `pre` down to less than the slack.
// Sources: kv_cache_configurator.py _profile_available_bytes (0bda0b168); model_runner.py before.
std::string NoKvMemoryText(KvRefusal form, double fraction, double minimum);

// The rest is positive but holds no page.
std::string NoTokensText(double fraction);

// Not one state, or not enough of them for one request.
// Sources: kv_cache_configurator.py _handle_max_mamba_cache, _resolve_max_num_reqs (0bda0b168).
std::string NoStateSlotsText(const StatePool& pool, double rest_gib, Bytes slot);
std::string NoRequestsText(const StatePool& pool);

// A window pool that cannot admit a request. Source: pool_configurator.py (0bda0b168).
std::string SmallWindowPoolText(int64_t tokens, int64_t window, int64_t page);

// A window pool capped by --max-running-requests that leaves nothing for the other layers.
std::string WindowCapText(int64_t window_tokens, double window_gib, double available_gib);

}  // namespace shardplan::sglang

#endif  // SHARDPLAN_ENGINE_SGLANG_REFUSALS_H_
