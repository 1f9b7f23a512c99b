// What measured runs teach about a plan.
#ifndef SHARDPLAN_PLAN_CALIBRATE_H_
#define SHARDPLAN_PLAN_CALIBRATE_H_

#include <cstdint>
#include <vector>

#include "plan/predict_runs.h"
#include "plan/prepare.h"
#include "plan/stage.h"

namespace shardplan {

// The run that is nearest to a plan's stage; nothing where none has its layout.
const PredictedRun* NearestRun(const CalibrationTable& table, const Prepared& prepared,
                               int64_t stage);

// Adds the run's differences to what was derived for a stage, and sums up again. What the run
// measured becomes `measured`, with the run as source; where it tells only a sum, the least known
// entry (growth outside torch) takes the difference. Ranges shrink to the rounding of the print,
// plus 3 % of what the activation peaks of run and plan differ by.
void Calibrate(const PredictedRun& run, const Prepared& prepared, int64_t stage,
               StageEvaluation* evaluation);

// Which runs were used, and why the others were not.
std::vector<Finding> CalibrationNotes(const CalibrationTable& table, const Prepared& prepared);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_CALIBRATE_H_
