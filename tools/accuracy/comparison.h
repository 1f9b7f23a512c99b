// What shardplan predicts beside what a log printed.
#ifndef SHARDPLAN_TOOLS_ACCURACY_COMPARISON_H_
#define SHARDPLAN_TOOLS_ACCURACY_COMPARISON_H_

#include <string>
#include <vector>

#include "shardplan/base/bytes.h"
#include "shardplan/plan/plan.h"
#include "tools/accuracy/cases.h"

namespace shardplan::accuracy {

// One printed figure: a stage of a case.
struct Comparison {
  Case log;
  int64_t stage = 0;
  double observed_gib = 0;
  WeightsDetail detail;  // of a rank of the stage, the fullest of them
  Bytes predicted;
  std::string not_modelled;  // why there is no prediction; empty where there is one

  bool modelled() const { return not_modelled.empty(); }
  double error() const;  // predicted ÷ observed − 1
};

// Plans every case as it was started. A model or engine that is not covered yet is a row without a
// prediction, not a failure.
Result<std::vector<Comparison>> Compare(const std::vector<Case>& cases, const ConfigStore& store);

// Over the rows with a prediction.
struct Summary {
  size_t rows = 0;
  size_t modelled = 0;
  double median = 0;  // of the errors without sign
  double largest = 0;
  size_t within_half_percent = 0;
};
Summary Summarize(const std::vector<Comparison>& rows);

// docs/accuracy.md.
std::string Render(const std::vector<Comparison>& rows);

}  // namespace shardplan::accuracy

#endif  // SHARDPLAN_TOOLS_ACCURACY_COMPARISON_H_
