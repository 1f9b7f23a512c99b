#include "tools/accuracy/sglang_rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "shardplan/base/units.h"

namespace shardplan::accuracy {
namespace {

constexpr double kHalfPrint = 0.005;  // GiB: a figure is printed to two decimals
constexpr double kPoolPromise = 0.002;

// Why a plan has no cache to count tokens in; empty where it has one.
std::string WithoutCache(const Case& c, const Result<Plan>& plan) {
  if (plan && plan->kv) return "";
  const VerdictRow start = CompareStart(c, plan);
  return start.modelled() ? start.why : start.not_modelled;
}

SglangTokens FromPool(const Case& c, const Result<Plan>& plan) {
  SglangTokens row;
  row.log = c;
  row.not_modelled = WithoutCache(c, plan);
  if (!row.modelled()) return row;
  // K and V are printed apart, and each is rounded.
  const double rounding = kHalfPrint * static_cast<double>(c.pool_gib.size());
  const auto tokens = [&](double off) {
    return TokensOfPool(Gibibytes(row.pool_gib() + off).ToBytes(), *plan->kv);
  };
  row.low = tokens(-rounding);
  row.central = tokens(0);
  row.high = tokens(rounding);
  return row;
}

SglangTokens FromFlags(const Case& c, const Result<Plan>& plan) {
  SglangTokens row;
  row.log = c;
  row.not_modelled = WithoutCache(c, plan);
  if (!row.modelled()) return row;
  const KvPlan& kv = *plan->kv;
  row.low = kv.num_blocks_low * kv.block_tokens;
  row.central = kv.tokens;
  row.high = kv.num_blocks_high * kv.block_tokens;
  return row;
}

UnexplainedStart Unexplained(const Case& c, const Result<Plan>& plan) {
  UnexplainedStart row;
  row.start = CompareStart(c, plan);
  row.printed_gib = c.weights_gib[0];
  if (!plan) return row;
  for (const RankPlan& rank : plan->ranks) row.predicted = std::max(row.predicted, rank.weights);
  return row;
}

double Largest(const std::vector<SglangTokens>& rows) {
  double largest = 0;
  for (const SglangTokens& row : rows) {
    if (row.modelled()) largest = std::max(largest, std::abs(row.error()));
  }
  return largest;
}

}  // namespace

double SglangTokens::pool_gib() const {
  return std::accumulate(log.pool_gib.begin(), log.pool_gib.end(), 0.0);
}

double SglangTokens::error() const {
  return static_cast<double>(central) / static_cast<double>(printed()) - 1;
}

bool SglangTokens::close() const { return modelled() && std::abs(error()) <= kPoolPromise; }

double UnexplainedStart::error() const { return InGiB(predicted).value() / printed_gib - 1; }

int64_t TokensOfPool(Bytes pool, const KvPlan& kv) {
  // A rank of one stage prints its pool; the cases have no others.
  return pool.count() / kv.bytes_per_block_by_stage[0].count() * kv.block_tokens;
}

Result<SglangRows> CompareSglang(const std::vector<Case>& cases, const ConfigStore& store) {
  SHARDPLAN_ASSIGN_OR_RETURN(const Catalog catalog, Catalog::Load(store));
  SglangRows rows;
  for (const Case& c : cases) {
    if (c.deployment.engine != "sglang") continue;
    const Result<Plan> plan = PlanCase(c, c.deployment, catalog, store);
    if (c.unexplained) {
      rows.unexplained.push_back(Unexplained(c, plan));
      continue;
    }
    if (!c.pool_gib.empty()) rows.from_pool.push_back(FromPool(c, plan));
    // A fraction that is not told would be a guess at the largest term.
    if (c.kv_tokens && c.deployment.sglang.mem_fraction_static) {
      rows.from_flags.push_back(FromFlags(c, plan));
    }
    if (!c.result.empty()) rows.starts.push_back(CompareStart(c, plan));
  }
  return rows;
}

SglangSummary Summarize(const SglangRows& rows) {
  SglangSummary s;
  for (const SglangTokens& row : rows.from_pool) {
    ++s.from_pool;
    s.from_pool_close += row.close();
    s.from_pool_in_range += row.modelled() && row.in_range();
  }
  for (const SglangTokens& row : rows.from_flags) {
    ++s.from_flags;
    s.from_flags_in_range += row.modelled() && row.in_range();
  }
  s.largest_from_pool = Largest(rows.from_pool);
  s.largest_from_flags = Largest(rows.from_flags);
  for (const VerdictRow& row : rows.starts) {
    ++s.starts;
    s.starts_hold += row.modelled() && row.holds();
  }
  return s;
}

}  // namespace shardplan::accuracy
