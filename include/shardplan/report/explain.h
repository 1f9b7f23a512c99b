// What stands behind one total.
#ifndef SHARDPLAN_REPORT_EXPLAIN_H_
#define SHARDPLAN_REPORT_EXPLAIN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "shardplan/base/basis.h"
#include "shardplan/base/bytes.h"
#include "shardplan/plan/plan.h"

namespace shardplan {

// One line of an explanation: a parameter, or an entry of the ledger.
struct ExplainItem {
  std::string name;
  std::string rule;        // why the rank holds it
  std::string shape;       // empty where there is none
  std::string arithmetic;  // "47 × 1,233,125,376 B"
  Bytes bytes;
  Basis basis = Basis::kExact;
  std::string source;
};

// An account of one rank. The items sum to `bytes`.
struct Explanation {
  int64_t rank = 0;
  std::string account;
  Bytes bytes;
  std::vector<ExplainItem> items;
};

// The weights, parameter by parameter, largest first; what offloading takes off the card and what
// the allocator rounds up are items of their own, so that the sum is what the ledger says.
Explanation ExplanationOfWeights(const RankPlan& rank, const std::vector<WeightItem>& items);

// Any account as its entries in the rank's ledger, piece by piece where an entry has pieces.
Explanation ExplanationOfAccount(const RankPlan& rank, Account account);

std::string RenderExplanationTable(const Explanation& explanation, int width = 100);
std::string RenderExplanationJson(const Explanation& explanation);  // schema_version 1
std::string RenderExplanationYaml(const Explanation& explanation);

}  // namespace shardplan

#endif  // SHARDPLAN_REPORT_EXPLAIN_H_
