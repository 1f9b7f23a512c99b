// How many nodes an engine spreads its ranks over.
#ifndef SHARDPLAN_PLAN_NODE_COUNT_H_
#define SHARDPLAN_PLAN_NODE_COUNT_H_

#include <cstdint>
#include <optional>

#include "shardplan/layout/layout.h"

namespace shardplan {

// The fewest nodes of `per_node` cards that divide the ranks as vLLM wants them: the same number on
// each, and whole data-parallel engines on a node or on nodes of their own. Among nodes that are
// there anyway (`given`, at most so many), whole stages on whole nodes come first. 0: none do.
int64_t VllmNodes(const ParallelSizes& sizes, int64_t per_node, std::optional<int64_t> given);

// The same of SGLang, which gives a node whole stages, or an even part of one.
int64_t SglangNodes(const ParallelSizes& sizes, int64_t per_node, std::optional<int64_t> given);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_NODE_COUNT_H_
