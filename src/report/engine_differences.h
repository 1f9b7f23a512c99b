// Why two engines answer differently about the same deployment.
#ifndef SHARDPLAN_REPORT_ENGINE_DIFFERENCES_H_
#define SHARDPLAN_REPORT_ENGINE_DIFFERENCES_H_

#include <string>
#include <vector>

#include "shardplan/report/comparison.h"

namespace shardplan {

// A row in which engines differ. A rule is how the engine works, whatever is asked of it; a choice
// is a setting that could be another one.
struct EngineDifference {
  std::string row;  // "weights"
  bool is_rule = true;
  std::string text;
};

// Between the first variant of each engine; nothing where all are of one engine or one of the two
// is illegal. In the order of the ledger.
std::vector<EngineDifference> EngineDifferences(const std::vector<Variant>& variants);

}  // namespace shardplan

#endif  // SHARDPLAN_REPORT_ENGINE_DIFFERENCES_H_
