// Figures of real runs, which make the plans of their neighbours exact.
#ifndef SHARDPLAN_PLAN_CALIBRATION_H_
#define SHARDPLAN_PLAN_CALIBRATION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shardplan/base/basis.h"
#include "shardplan/plan/deployment.h"

namespace shardplan {

// One start of an engine and what its log printed. A figure's range is the rounding of its print.
//
// What was measured replaces what this tool would assume, in every plan on the same card, minor
// version of the engine, model and layout (TP, PP, DP, DCP, expert parallelism). All else may
// differ: the plan keeps its own derived figures and adds the difference between what the run
// measured and what is derived for the run's conditions.
struct CalibrationRun {
  std::string name;              // "run 1" where the file gives none
  std::string model;             // a family, or the architecture of config.json
  Deployment deployment;         // the run's own options; what is left out is the engine's default
  std::optional<int64_t> stage;  // whose rank printed the figures

  // Terms.
  std::optional<Range> weights;           // "Model loading took"
  std::optional<Range> activation_peak;   // torch's peak beyond the weights
  std::optional<Range> non_torch_growth;  // from the baseline to the end of the profile run
  std::optional<Range> graph_reserve;     // what was estimated and deducted, not what was used
  std::optional<Range> baseline;          // in use before loading: context, communicators, others

  // What was left for the cache, at most one of: "Available KV cache memory", blocks, "GPU KV cache
  // size". The sum of the other terms follows.
  std::optional<Range> available_kv;
  std::optional<int64_t> num_blocks;
  std::optional<int64_t> kv_tokens;
};

struct Calibration {
  std::string file;  // where it was read, for sources
  std::vector<CalibrationRun> runs;
};

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_CALIBRATION_H_
