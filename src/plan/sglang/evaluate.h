// What SGLang's ranks hold, stage by stage, and what its rules make of the rest.
#ifndef SHARDPLAN_PLAN_SGLANG_EVALUATE_H_
#define SHARDPLAN_PLAN_SGLANG_EVALUATE_H_

#include <string>
#include <vector>

#include "engine/sglang/offload.h"
#include "engine/sglang/pools.h"
#include "engine/sglang/slack.h"
#include "plan/classes.h"
#include "plan/sglang/prepare.h"

namespace shardplan {

// Ranks of a stage are alike.
struct SglangStage {
  WeightsDetail detail;
  Range weights;  // resident after loading and offload, the draft included
  Bytes draft;    // of them
  sglang::Offload offload;
  // Outside the fraction, after loading.
  sglang::Estimate activations, graphs, communication, all_to_all;
  std::vector<sglang::SlackItem> items;
  std::vector<Entry> entries;  // all but caches and the remainder
  Range outside;               // sum of those outside the budget, the driver's reserve included
  Range load_peak;             // of CUDA-visible memory
};

struct SglangEvaluation {
  Range before;  // free before the weights, the least of all ranks
  Range after;   // and with all weights loaded
  std::vector<SglangStage> stages;
  // With every uncertain figure at its cheap end, in the middle, at its dear end.
  sglang::Pools low, central, high;

  const sglang::Pools& At(End end) const {
    return end == End::kLow ? low : end == End::kHigh ? high : central;
  }
};

Result<SglangEvaluation> EvaluateSglang(const SglangPrepared& prepared, const Model& model);

// --mem-fraction-static × the memory that was free at one end.
Bytes SglangBudget(const SglangPrepared& prepared, const SglangEvaluation& evaluation, End end);

// Bytes of the state pool on a rank of a stage, scratch of drafts included: slots of its own
// layers.
Bytes StatePoolBytes(const SglangPrepared& prepared, const sglang::Pools& pools,
                     const StageRange& stage);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_SGLANG_EVALUATE_H_
