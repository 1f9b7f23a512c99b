// --sweep: numeric options and the values that they take in turn.
#ifndef SHARDPLAN_CLI_SWEEP_OPTIONS_H_
#define SHARDPLAN_CLI_SWEEP_OPTIONS_H_

#include <string>
#include <vector>

#include "cli/variants.h"
#include "shardplan/base/result.h"
#include "shardplan/report/sweep.h"

namespace shardplan::cli {

constexpr size_t kMostAxes = 2;
constexpr size_t kMostCells = 1024;

// One or two "OPTION=A,B,…", read as --vary reads them.
struct SweepRequest {
  std::vector<Axis> axes;             // for MakeVariants
  std::vector<SweepAxis> as_numbers;  // the same, for the report
};

// Fails with kUsage as ParseAxis does, and for more than two, for an option whose values are no
// numbers, for values that are none, and for two that are the same number.
Result<SweepRequest> ParseSweep(const std::vector<std::string>& texts);

}  // namespace shardplan::cli

#endif  // SHARDPLAN_CLI_SWEEP_OPTIONS_H_
