// Ranks that hold the same, evaluated once.
#ifndef SHARDPLAN_PLAN_CLASSES_H_
#define SHARDPLAN_PLAN_CLASSES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "plan/prepare.h"
#include "plan/stage.h"

namespace shardplan {

// A rank's class: its stage, and whether it holds one of the experts left over by an uneven split.
using ClassKey = std::pair<int64_t, int64_t>;

// Which end of the ranges the others are at: cheap, central, dear.
enum class End { kLow, kCentral, kHigh };

struct Classes {
  std::map<int64_t, std::shared_ptr<const DeviceWeights>> weights;  // by local experts
  std::map<int64_t, GuessedWeights> ends;           // the same, of a model with guesses
  std::map<ClassKey, StageEvaluation> evaluations;  // by stage and number of local experts
};

// The first rank of each class, in the order of ranks.
std::vector<RankPlace> FirstOfEachClass(const Prepared& prepared,
                                        const std::vector<RankPlace>& places);

// Without what a calibration knows.
Classes EvaluateClasses(const Prepared& prepared, const Model& model,
                        const std::vector<RankPlace>& places);

// KV bytes of the fullest class of each stage. The others' cheap end leaves the most.
std::vector<Bytes> AvailableByStage(const Classes& classes, size_t stages, End end);

// The fullest class of a stage, which must have one.
const StageEvaluation& FullestOf(const Classes& classes, int64_t stage);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_CLASSES_H_
