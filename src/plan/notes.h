// What a plan says about itself in words.
#ifndef SHARDPLAN_PLAN_NOTES_H_
#define SHARDPLAN_PLAN_NOTES_H_

#include <vector>

#include "engine/vllm/kv_cache.h"
#include "plan/prepare.h"
#include "shardplan/plan/plan.h"

namespace shardplan {

// Errors that the engine itself would raise at start-up, quoted: no memory for the cache, a window
// that does not fit, too few blocks for graph capture, too little free memory; and ours for what it
// never checks (memory outside its budget, the peak while loading).
std::vector<Finding> EngineRefusals(const Prepared& prepared, const vllm::KvLayout& layout,
                                    const Plan& plan);

// Warnings and notes on a legal plan: padding, replication, a dearer block on one stage, a number
// of sequences that promises more than the cache holds, pinned rounding, a verdict that depends on
// the ends of the ranges.
std::vector<Finding> ExplainingNotes(const Environment& environment, const Prepared& prepared,
                                     const vllm::KvLayout& layout, const Plan& plan);

// The largest utilization, to three digits, that leaves room on every rank for what the engine
// never counts; zero when none does.
double RoomyUtilization(const Plan& plan);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_NOTES_H_
