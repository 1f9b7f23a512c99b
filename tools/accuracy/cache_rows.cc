#include "tools/accuracy/cache_rows.h"

#include <algorithm>
#include <cmath>

#include "shardplan/base/units.h"

namespace shardplan::accuracy {
namespace {

constexpr double kLittle = 4;  // GiB of cache below which an error is told in GiB

Result<Plan> PlanWithCache(const Case& c, Bytes cache, const Catalog& catalog,
                           const ConfigStore& store) {
  Deployment d = c.deployment;
  d.settings.kv_cache_memory_bytes = cache;
  d.settings.num_gpu_blocks_override.reset();
  return PlanCase(c, d, catalog, store);
}

// Tokens of the stages' printed memory, each off by `rounding` GiB.
Result<int64_t> TokensOf(const Case& c, double rounding, const Catalog& catalog,
                         const ConfigStore& store) {
  const auto bytes = [&](double gib) {
    return Gibibytes(std::max(gib + rounding, 0.001)).ToBytes();
  };
  SHARDPLAN_ASSIGN_OR_RETURN(const Plan first,
                             PlanWithCache(c, bytes(c.kv_gib[0]), catalog, store));
  if (!first.kv) return Fail(ErrorCode::kUnsupported, c.id, "the plan has no cache");
  if (c.kv_gib.size() == 1) return first.kv->tokens;
  // The engine has the fewest blocks of any stage; one figure for all stages that gives as many.
  const std::vector<Bytes>& block = first.kv->bytes_per_block_by_stage;
  int64_t blocks = INT64_MAX;
  Bytes widest;
  for (size_t stage = 0; stage < block.size(); ++stage) {
    blocks = std::min(blocks, bytes(c.kv_gib[stage]).count() / block[stage].count());
    widest = std::max(widest, block[stage]);
  }
  SHARDPLAN_ASSIGN_OR_RETURN(const Plan plan, PlanWithCache(c, widest * blocks, catalog, store));
  if (!plan.kv) return Fail(ErrorCode::kUnsupported, c.id, "the plan has no cache");
  return plan.kv->tokens;
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::string FirstError(const Plan& plan) {
  for (const Finding& finding : plan.findings) {
    if (finding.severity == Severity::kError) return finding.message;
  }
  return "";
}

void AddTokens(const Case& c, const Catalog& catalog, const ConfigStore& store, CacheRows* rows) {
  TokensRow row;
  row.log = c;
  const Result<int64_t> low = TokensOf(c, -0.005, catalog, store);
  const Result<int64_t> high = TokensOf(c, +0.005, catalog, store);
  if (!low || !high) {
    row.not_modelled = low ? high.error().message : low.error().message;
  } else {
    row.low = *low;
    row.high = *high;
  }
  rows->tokens.push_back(std::move(row));
}

// The value of a flag that the log does not tell is the default, or anything up to the largest that
// the same publisher's other logs show.
constexpr int64_t kLargestBatch = 32768;

void WidenForUnknown(const Case& c, const Catalog& catalog, const ConfigStore& store,
                     BudgetRow* row) {
  if (c.unknown_flags.empty()) return;
  Deployment d = c.deployment;
  d.settings.max_num_batched_tokens = kLargestBatch;
  const Result<Plan> other = PlanCase(c, d, catalog, store);
  if (!other) return;
  for (const RankPlan& rank : other->ranks) {
    if (rank.place.stage != row->stage) continue;
    row->predicted.low = std::min(row->predicted.low, rank.kv_available.low);
    row->predicted.high = std::max(row->predicted.high, rank.kv_available.high);
  }
}

void AddBudget(const Case& c, const Result<Plan>& plan, const Catalog& catalog,
               const ConfigStore& store, CacheRows* rows) {
  for (size_t stage = 0; stage < c.kv_gib.size(); ++stage) {
    BudgetRow row;
    row.log = c;
    row.stage = static_cast<int64_t>(stage);
    row.printed_gib = c.kv_gib[stage];
    if (!plan || plan->ranks.empty()) {
      row.not_modelled = plan ? FirstError(*plan) : plan.error().message;
    } else {
      row.binding = plan->activations[stage].binding;
      bool found = false;
      for (const RankPlan& rank : plan->ranks) {
        if (rank.place.stage != row.stage) continue;
        // The fullest of the stage: the engine takes the least of all.
        if (!found || rank.kv_available.central < row.predicted.central) {
          row.predicted = rank.kv_available;
        }
        found = true;
      }
      WidenForUnknown(c, catalog, store, &row);
    }
    rows->budgets.push_back(std::move(row));
  }
}

}  // namespace

VerdictRow CompareStart(const Case& c, const Result<Plan>& plan) {
  VerdictRow row;
  row.log = c;
  if (!plan) {
    row.not_modelled = plan.error().message;
  } else {
    row.verdict = plan->verdict;
    row.low = plan->verdict_low;
    row.high = plan->verdict_high;
    row.why = FirstError(*plan);
  }
  return row;
}

double BudgetRow::error_gib() const { return InGiB(predicted.central).value() - printed_gib; }

bool BudgetRow::close() const {
  if (printed_gib < kLittle) return std::abs(error_gib()) <= 0.5;
  return std::abs(error()) <= 0.04;
}

bool BudgetRow::in_range() const {
  return InGiB(predicted.low).value() - 0.005 <= printed_gib &&
         printed_gib <= InGiB(predicted.high).value() + 0.005;
}

double BudgetRow::width() const {
  return (InGiB(predicted.high).value() - InGiB(predicted.low).value()) / std::abs(printed_gib);
}

Result<CacheRows> CompareCaches(const std::vector<Case>& cases, const ConfigStore& store) {
  SHARDPLAN_ASSIGN_OR_RETURN(const Catalog catalog, Catalog::Load(store));
  CacheRows rows;
  for (const Case& c : cases) {
    if (c.deployment.engine != "vllm") continue;
    if (c.kv_tokens) AddTokens(c, catalog, store, &rows);
    if (!c.compares_budget && c.result.empty()) continue;
    const Result<Plan> plan = PlanCase(c, c.deployment, catalog, store);
    if (c.compares_budget) AddBudget(c, plan, catalog, store, &rows);
    if (!c.result.empty()) rows.verdicts.push_back(CompareStart(c, plan));
  }
  return rows;
}

CacheSummary Summarize(const CacheRows& rows) {
  CacheSummary s;
  for (const TokensRow& row : rows.tokens) {
    ++s.tokens;
    s.tokens_hold += row.modelled() && row.holds();
  }
  std::vector<double> errors;
  std::vector<double> errors_gib;
  std::vector<double> widths;
  for (const BudgetRow& row : rows.budgets) {
    ++s.budgets;
    if (!row.modelled()) continue;
    s.in_range += row.in_range();
    if (row.judged_by_range()) continue;
    if (row.printed_gib >= kLittle) widths.push_back(row.width());
    ++s.judged;
    s.close += row.close();
    (row.printed_gib < kLittle ? errors_gib : errors)
        .push_back(std::abs(row.printed_gib < kLittle ? row.error_gib() : row.error()));
  }
  s.median_error = Median(std::move(errors));
  s.median_error_gib = Median(std::move(errors_gib));
  s.median_width = Median(std::move(widths));
  for (const VerdictRow& row : rows.verdicts) {
    ++s.verdicts;
    s.verdicts_hold += row.modelled() && row.holds();
  }
  return s;
}

}  // namespace shardplan::accuracy
