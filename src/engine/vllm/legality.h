// Layouts that vLLM refuses, in vLLM's own words, with the legal neighbours.
#ifndef SHARDPLAN_ENGINE_VLLM_LEGALITY_H_
#define SHARDPLAN_ENGINE_VLLM_LEGALITY_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/vllm/context.h"

namespace shardplan::vllm {

// Findings with severity error make the layout illegal. `partition` is what the user gave, if
// anything; `context.stages` may be empty while this is checked.
std::vector<Finding> CheckLayout(const Context& context,
                                 const std::optional<std::vector<int64_t>>& partition);

}  // namespace shardplan::vllm

#endif  // SHARDPLAN_ENGINE_VLLM_LEGALITY_H_
