// What a rank of one stage holds besides its KV cache.
#ifndef SHARDPLAN_PLAN_STAGE_H_
#define SHARDPLAN_PLAN_STAGE_H_

#include <vector>

#include "engine/vllm/activations.h"
#include "engine/vllm/offload.h"
#include "engine/vllm/weights.h"
#include "plan/load_peak.h"
#include "plan/prepare.h"
#include "shardplan/plan/plan.h"

namespace shardplan {

// What a rank of an unknown architecture holds where its guessed splits are at their ends.
struct GuessedWeights {
  DeviceWeights finest;
  DeviceWeights whole;
};

// Ranks of a stage are alike but for the number of routed experts, which differs by one where
// experts don't divide over the ranks.
struct StageEvaluation {
  vllm::ActivationPeak activation;
  vllm::GraphReserve graphs;
  WeightsDetail detail;
  Bytes resident;  // weights on the card after offload
  Range weights;   // the same with its ends, where splits are guessed
  vllm::Offload offload;
  Range budget;
  std::vector<Entry> entries;  // everything but the KV cache and the remainder
  Range in_budget;             // their sum inside the budget,
  Range outside;               // and outside it, the driver's reserve included
  Range kv_available;          // what the budget leaves; dear ends of the others make its low
  Range load_peak;             // of CUDA-visible memory, while loading
  LoadTransient load;          // what of it is gone afterwards
  // What a calibration added to the derived activations (they and their entry include it).
  Bytes measured_activation;
  bool budget_is_settled = false;  // a measured sum holds for the central budget
};

// `weights` are those of the rank's class (ComputeDeviceWeights with vllm::RulesFor), `ends` theirs
// where the model has guesses.
StageEvaluation EvaluateStage(const Prepared& prepared, const Model& model,
                              const DeviceWeights& weights, int64_t stage, int64_t local_experts,
                              const GuessedWeights* ends = nullptr);

// Fills in the sums over the entries: in_budget, outside, budget, kv_available and load_peak.
void SumUp(const Prepared& prepared, StageEvaluation* evaluation);

// Bytes that the engine allows itself: ceil(CUDA total × utilization), in the engine's doubles.
Bytes RequestedBytes(Bytes cuda_total, double utilization);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_STAGE_H_
