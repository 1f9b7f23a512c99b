// Measured runs beside what is derived for their conditions.
#ifndef SHARDPLAN_PLAN_PREDICT_RUNS_H_
#define SHARDPLAN_PLAN_PREDICT_RUNS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plan/prepare.h"
#include "plan/stage.h"
#include "shardplan/plan/calibration.h"

namespace shardplan {

// A run beside what is derived for its conditions.
struct PredictedRun {
  const CalibrationRun* run = nullptr;
  std::string source;                   // "runs.yaml, run 1"
  std::string refused;                  // why it teaches nothing here; empty where it does
  bool suspicious = false;              // refused because its figures cannot be this model's
  double utilization = 0;               // resolved
  int64_t batched_tokens = 0;           // resolved
  std::vector<int64_t> capture_sizes;   // resolved
  std::vector<StageEvaluation> stages;  // derived; the fullest class of each
  size_t reference = 0;                 // stage whose figures the terms are
  // Measured − derived.
  std::optional<Range> weights, activations, growth, graphs, baseline;
  // Of all that the engine counts, less the terms above; where the run tells what it left.
  std::optional<Range> rest;
};

// Runs are predicted once for an environment, whatever is then planned in it.
struct CalibrationTable {
  std::shared_ptr<const Calibration> calibration;  // what `runs` points into
  std::vector<PredictedRun> runs;                  // in the file's order
};

// Evaluates every run of the environment's card, engine and model. `deployment` has the calibration
// and asks for the engine. Never fails: a run that cannot be used says why.
std::shared_ptr<const CalibrationTable> PredictRuns(const Environment& environment,
                                                    const ConfigStore& store,
                                                    const Deployment& deployment);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_PREDICT_RUNS_H_
