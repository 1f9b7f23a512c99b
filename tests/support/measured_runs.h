// The published starts of Kimi-K3 as measured runs.
#ifndef SHARDPLAN_TESTS_SUPPORT_MEASURED_RUNS_H_
#define SHARDPLAN_TESTS_SUPPORT_MEASURED_RUNS_H_

#include <memory>
#include <utility>
#include <vector>

#include "shardplan/plan/calibration.h"
#include "support/plan_world.h"

namespace shardplan::testing_support {

inline const Model& K3() { return ExampleFromConfig("kimi-k3"); }

// One of the three published starts.
struct Start {
  bool eager;
  int64_t batched;
  int64_t blocks;
};
constexpr Start kPublished[] = {{true, 8192, 1630}, {false, 8192, 1568}, {false, 16'384, 1262}};

inline Deployment DeploymentOf(const Start& start) {
  Deployment d = PublishedKimiK3();
  d.settings.enforce_eager = start.eager;
  d.settings.max_num_batched_tokens = start.batched;
  return d;
}

// A run of K3, of which tests change what they are about.
inline CalibrationRun RunOf(const Deployment& d) {
  CalibrationRun run;
  run.name = "run 1";
  run.model = "kimi-k3";
  run.deployment = d;
  run.deployment.engine_version = "0.31.0";
  return run;
}

inline CalibrationRun RunOf(const Start& start) {
  CalibrationRun run = RunOf(DeploymentOf(start));
  run.num_blocks = start.blocks;
  return run;
}

inline Deployment With(Deployment d, std::vector<CalibrationRun> runs) {
  d.calibration = std::make_shared<const Calibration>(Calibration{"runs.yaml", std::move(runs)});
  return d;
}

inline Plan PlanWith(const Deployment& d, const CalibrationRun& run) {
  return Evaluate(K3(), With(d, {run}));
}

}  // namespace shardplan::testing_support

#endif  // SHARDPLAN_TESTS_SUPPORT_MEASURED_RUNS_H_
