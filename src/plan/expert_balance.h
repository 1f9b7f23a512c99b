// Loads of experts as loads of ranks, before and after they are replicated.
#ifndef SHARDPLAN_PLAN_EXPERT_BALANCE_H_
#define SHARDPLAN_PLAN_EXPERT_BALANCE_H_

#include <cstdint>
#include <vector>

#include "shardplan/base/result.h"
#include "shardplan/model/architecture.h"
#include "shardplan/plan/expert_load.h"

namespace shardplan {

// Load of each rank with the experts in order: the first ranks hold one more where they don't
// divide. Source: vllm/model_executor/layers/fused_moe/layer.py determine_expert_map (as of 2026;
// not compared with one commit).
std::vector<double> LoadsInOrder(const std::vector<double>& loads, int64_t ranks);

// Replicas of each expert (one at least) when `redundant` more are given, one after the other, to
// whichever has most load a replica; of equals the first.
std::vector<int64_t> Replicate(const std::vector<double>& loads, int64_t redundant);

// Load of each rank when replicas, heaviest first, each go to the rank with the least load that has
// room. Experts and replicas must divide over the ranks.
// These are the two steps of deepseek-ai/EPLB (MIT, eplb.py: replicate_experts, balanced_packing),
// which vLLM's default policy and SGLang's "deepseek" algorithm follow, over all ranks at once: the
// first step of the hierarchical variant, groups of experts to nodes, is not among them.
std::vector<double> LoadsBalanced(const std::vector<double>& loads, int64_t redundant,
                                  int64_t ranks);

// Fails with kInvalidInput where the file does not fit the model: layers that are no mixtures or
// stand twice, more experts than it has, another number of layers where they are not numbered.
Result<ExpertLoadPlan> BalanceExperts(const Architecture& arch, const ExpertLoads& loads,
                                      int64_t ranks, int64_t redundant, bool balancing);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_EXPERT_BALANCE_H_
