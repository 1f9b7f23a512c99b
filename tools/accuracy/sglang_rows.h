// SGLang's start-ups: tokens of a printed pool, tokens and result from the flags alone. Weights are
// compared with those of the other engine (comparison.h).
#ifndef SHARDPLAN_TOOLS_ACCURACY_SGLANG_ROWS_H_
#define SHARDPLAN_TOOLS_ACCURACY_SGLANG_ROWS_H_

#include <string>
#include <vector>

#include "shardplan/plan/plan.h"
#include "tools/accuracy/cache_rows.h"
#include "tools/accuracy/cases.h"

namespace shardplan::accuracy {

// "max_total_num_tokens", predicted from the printed pool or from the flags alone.
struct SglangTokens {
  Case log;
  int64_t low = 0;
  int64_t central = 0;
  int64_t high = 0;
  std::string not_modelled;

  int64_t printed() const { return log.kv_tokens.value_or(0); }
  double pool_gib() const;  // as printed, K and V together; 0: not printed
  bool modelled() const { return not_modelled.empty(); }
  double error() const;  // predicted ÷ printed − 1
  bool in_range() const { return low <= printed() && printed() <= high; }
  // To the promise for a printed pool: 0.2 %.
  bool close() const;
};

// A start whose printed figures nothing here reproduces: shown beside the plan, judged by nobody.
struct UnexplainedStart {
  VerdictRow start;
  double printed_gib = 0;  // of weights
  Bytes predicted;

  double error() const;
};

struct SglangRows {
  std::vector<SglangTokens> from_pool;   // arithmetic
  std::vector<SglangTokens> from_flags;  // a prediction; of logs that tell the fraction
  std::vector<VerdictRow> starts;
  std::vector<UnexplainedStart> unexplained;
};

// Tokens of a pool of `pool` bytes by the plan's cache: whole blocks.
int64_t TokensOfPool(Bytes pool, const KvPlan& kv);

Result<SglangRows> CompareSglang(const std::vector<Case>& cases, const ConfigStore& store);

struct SglangSummary {
  size_t from_pool = 0, from_pool_close = 0, from_pool_in_range = 0;
  size_t from_flags = 0, from_flags_in_range = 0;
  double largest_from_pool = 0;   // error without its sign
  double largest_from_flags = 0;  // likewise
  size_t starts = 0, starts_hold = 0;
};
SglangSummary Summarize(const SglangRows& rows);

// The last section of docs/accuracy.md.
std::string RenderSglang(const SglangRows& rows);

}  // namespace shardplan::accuracy

#endif  // SHARDPLAN_TOOLS_ACCURACY_SGLANG_ROWS_H_
