// The cache's memory, its tokens and whether the engine started: predicted beside printed.
#ifndef SHARDPLAN_TOOLS_ACCURACY_CACHE_ROWS_H_
#define SHARDPLAN_TOOLS_ACCURACY_CACHE_ROWS_H_

#include <string>
#include <vector>

#include "shardplan/base/basis.h"
#include "shardplan/plan/plan.h"
#include "tools/accuracy/cases.h"

namespace shardplan::accuracy {

// "GPU KV cache size", computed from the printed memory: arithmetic alone.
struct TokensRow {
  Case log;
  int64_t low = 0;   // of the least memory that prints so
  int64_t high = 0;  // of the most
  std::string not_modelled;

  int64_t printed() const { return log.kv_tokens.value_or(0); }
  bool modelled() const { return not_modelled.empty(); }
  bool holds() const { return low <= printed() && printed() <= high; }
};

// "Available KV cache memory" from the flags alone, a stage of a case.
struct BudgetRow {
  Case log;
  int64_t stage = 0;
  double printed_gib = 0;
  Range predicted;
  std::string binding;  // phase of the activations' peak
  std::string not_modelled;

  bool modelled() const { return not_modelled.empty(); }
  bool judged_by_range() const { return !log.unknown_flags.empty(); }
  double error_gib() const;  // predicted − printed
  double error() const { return error_gib() / printed_gib; }
  // To the promise: 4 % of the memory, half a GiB where there is little or none.
  bool close() const;
  bool in_range() const;  // as printed, to two decimals
  double width() const;   // of the range ÷ printed memory
};

// Started or not.
struct VerdictRow {
  Case log;
  Verdict verdict = Verdict::kIllegal;
  Verdict low = Verdict::kIllegal;
  Verdict high = Verdict::kIllegal;
  std::string why;  // first error where it does not fit
  std::string not_modelled;

  bool modelled() const { return not_modelled.empty(); }
  // A layout that is illegal here is no reading of a start that found too little memory.
  bool holds() const {
    return verdict == (log.result == "started" ? Verdict::kFits : Verdict::kDoesNotFit);
  }
};

// Of a plan from the flags alone, or of the reason why there is none.
VerdictRow CompareStart(const Case& c, const Result<Plan>& plan);

struct CacheRows {
  std::vector<TokensRow> tokens;
  std::vector<BudgetRow> budgets;
  std::vector<VerdictRow> verdicts;
};

Result<CacheRows> CompareCaches(const std::vector<Case>& cases, const ConfigStore& store);

struct CacheSummary {
  size_t tokens = 0, tokens_hold = 0;
  size_t budgets = 0, judged = 0, close = 0, in_range = 0;
  double median_error = 0;      // of rows with 4 GiB and more, without sign
  double median_error_gib = 0;  // of the others
  double median_width = 0;
  size_t verdicts = 0, verdicts_hold = 0;
};
CacheSummary Summarize(const CacheRows& rows);

// The sections of docs/accuracy.md.
std::string RenderCaches(const CacheRows& rows);

}  // namespace shardplan::accuracy

#endif  // SHARDPLAN_TOOLS_ACCURACY_CACHE_ROWS_H_
