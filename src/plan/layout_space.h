// Every way to lay a model out over the cards of a cluster.
#ifndef SHARDPLAN_PLAN_LAYOUT_SPACE_H_
#define SHARDPLAN_PLAN_LAYOUT_SPACE_H_

#include <cstdint>
#include <vector>

#include "shardplan/model/architecture.h"
#include "shardplan/plan/deployment.h"
#include "shardplan/plan/layout_search.h"

namespace shardplan {

// Numbers of cards that are taken: all up to a node, then whole nodes.
std::vector<int64_t> WorldSizes(int64_t nodes, int64_t cards_per_node);

// `base` with every combination of sizes that the cards and the engine's options allow, whether the
// model can be cut that way or not, in a fixed order: fewest cards first, then TP, PP, DP, experts,
// DCP, each ascending. Sizes of `given` keep the value that `base` has.
//
// vLLM: TP × PP × DP on all cards, experts sliced and whole, DCP of powers of two that divide TP.
// SGLang: TP × PP and either replicas or attention DP inside TP; expert-parallel sizes that divide
// TP.
std::vector<Deployment> LayoutsOf(const Deployment& base, const GivenSizes& given,
                                  const Architecture& arch, int64_t nodes, int64_t cards_per_node);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_LAYOUT_SPACE_H_
