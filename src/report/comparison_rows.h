// What a comparison shows, row by row.
#ifndef SHARDPLAN_REPORT_COMPARISON_ROWS_H_
#define SHARDPLAN_REPORT_COMPARISON_ROWS_H_

#include <string>
#include <vector>

#include "shardplan/report/comparison.h"

namespace shardplan {

struct ComparisonRow {
  std::string label;
  std::string unit;  // of the cells; the group's heading may say it too
  // One a variant: "-" where it has no such thing, empty where it is illegal and has nothing.
  std::vector<std::string> cells;
  bool always = false;     // shown even where it is equal in all variants
  bool only_same = false;  // told only where it is equal: the options tell the difference

  bool IsSameInAll() const;    // in all that are legal
  std::string Common() const;  // what it then is
};

struct ComparisonGroup {
  std::string heading;  // empty for the first
  std::vector<ComparisonRow> rows;
};

// Options and verdicts, the deployment, the ledger of the fullest rank (a group each for what the
// engine counts and for the rest), KV cache and host memory. Rows that no variant has are left out.
std::vector<ComparisonGroup> ComparisonRows(const std::vector<Variant>& variants);

// The rank that is short, or the one with the least headroom; null for an illegal layout.
const RankPlan* FullestRank(const Plan& plan);

}  // namespace shardplan

#endif  // SHARDPLAN_REPORT_COMPARISON_ROWS_H_
