#include "plan/partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "shardplan/base/units.h"

namespace shardplan {
namespace {

Bytes LeastHeadroom(const Plan& plan) {
  std::optional<Bytes> least;
  for (const RankPlan& rank : plan.ranks) {
    least = std::min(least.value_or(rank.headroom), rank.headroom);
  }
  return least.value_or(Bytes());
}

auto Merit(const Plan& plan) {
  const bool fits = plan.verdict == Verdict::kFits;
  return std::tuple(plan.verdict != Verdict::kIllegal, fits,
                    fits && plan.kv ? plan.kv->max_concurrency : 0.0, LeastHeadroom(plan));
}

// The stage of the fullest rank.
size_t TightestStage(const Plan& plan) {
  const auto tightest = std::min_element(
      plan.ranks.begin(), plan.ranks.end(),
      [](const RankPlan& a, const RankPlan& b) { return a.headroom < b.headroom; });
  return tightest == plan.ranks.end() ? 0 : static_cast<size_t>(tightest->place.stage);
}

// Every way to give one layer of a stage to another: those between them pass one on. Of many stages
// only what relieves the fullest, and neighbours.
std::vector<std::vector<int64_t>> Moves(const Plan& plan) {
  constexpr size_t kFew = 4;
  std::vector<int64_t> now;
  for (const StageRange& stage : plan.stages) now.push_back(stage.count);
  const size_t tightest = TightestStage(plan);
  std::vector<std::vector<int64_t>> out;
  for (size_t from = 0; from < now.size(); ++from) {
    for (size_t to = 0; to < now.size(); ++to) {
      const bool near = from + 1 == to || to + 1 == from;
      const bool looked_at = now.size() <= kFew || from == tightest || near;
      if (from == to || now[from] == 1 || !looked_at) continue;
      out.push_back(now);
      --out.back()[from];
      ++out.back()[to];
    }
  }
  return out;
}

// "48,45 holds 1,628 blocks (1,502 to 1,694), 2.35 requests"
std::string Describe(const Plan& plan) {
  const KvPlan& kv = *plan.kv;
  std::string text = FormatPartition(plan.stages);
  if (plan.verdict != Verdict::kFits) {
    text += " does not fit";
    if (plan.limiting) text += fmt::format(", {} short", FormatGiB(plan.limiting->short_by, 2));
    return text;
  }
  text += fmt::format(" holds {} blocks", FormatCount(kv.num_blocks));
  if (kv.num_blocks_low != kv.num_blocks_high) {
    text +=
        fmt::format(" ({} to {})", FormatCount(kv.num_blocks_low), FormatCount(kv.num_blocks_high));
  }
  return text + fmt::format(", {:.2f} requests", kv.max_concurrency);
}

// How `other` stands to the plan's own split, behind its name.
std::string Against(const Plan& plan, const Plan& other) {
  if (plan.verdict != Verdict::kFits || other.verdict != Verdict::kFits) return "";
  switch (Compare(*other.kv, *plan.kv)) {
    case Standing::kMore:
      return ", more at every end of the ranges";
    case Standing::kLess:
      return ", less at every end of the ranges";
    case Standing::kTie:
      break;
  }
  return plan.kv->num_blocks == other.kv->num_blocks
             ? ": a tie"
             : ": a tie, the ends of the ranges do not agree on which holds more";
}

}  // namespace

PartitionPlan BestPartition(const Evaluator& evaluate, Deployment deployment, Plan plan,
                            int64_t* evaluated) {
  PartitionPlan out{std::move(deployment), std::move(plan)};
  while (*evaluated < kMostPartitions) {
    std::optional<std::pair<Deployment, Plan>> best;
    for (std::vector<int64_t>& next : Moves(out.plan)) {
      Deployment moved = out.deployment;
      moved.partition = std::move(next);
      ++*evaluated;
      std::optional<Plan> tried = evaluate(moved);
      if (!tried || Merit(*tried) <= Merit(best ? best->second : out.plan)) continue;
      best.emplace(std::move(moved), std::move(*tried));
    }
    if (!best) return out;
    out.deployment = std::move(best->first);
    out.plan = std::move(best->second);
  }
  out.settled = false;
  return out;
}

Standing Compare(const KvPlan& a, const KvPlan& b) {
  // What is not derivable is the same for both: the dear end of one meets the dear end of the
  // other.
  const std::array<std::pair<int64_t, int64_t>, 3> ends = {
      std::pair(a.num_blocks_low, b.num_blocks_low), std::pair(a.num_blocks, b.num_blocks),
      std::pair(a.num_blocks_high, b.num_blocks_high)};
  const auto all = [&](auto holds) {
    return std::all_of(ends.begin(), ends.end(),
                       [&](const auto& end) { return holds(end.first, end.second); });
  };
  if (all([](int64_t x, int64_t y) { return x > y; })) return Standing::kMore;
  if (all([](int64_t x, int64_t y) { return x < y; })) return Standing::kLess;
  return Standing::kTie;
}

std::optional<Finding> ComparePartitions(const Evaluator& evaluate, const Deployment& deployment,
                                         const Plan& plan) {
  if (plan.stages.size() < 2 || plan.verdict == Verdict::kIllegal || !plan.kv) return std::nullopt;
  Deployment standard = deployment;
  standard.partition.reset();
  const std::optional<Plan> own = evaluate(standard);
  int64_t evaluated = 0;
  const PartitionPlan best = BestPartition(evaluate, deployment, plan, &evaluated);
  const bool differs_from_own = own && own->kv && own->stages != plan.stages;
  const bool has_better = best.plan.stages != plan.stages;
  const bool rescues = plan.verdict != Verdict::kFits && best.plan.verdict == Verdict::kFits;
  const bool holds_more = plan.verdict == Verdict::kFits && has_better &&
                          Compare(*best.plan.kv, *plan.kv) == Standing::kMore;
  const bool own_fits = differs_from_own && own->verdict == Verdict::kFits;
  // A tie with a split that nobody asked for, and splits none of which fits, help nobody.
  if (!rescues && !holds_more && !(plan.verdict == Verdict::kFits ? differs_from_own : own_fits)) {
    return std::nullopt;
  }

  Finding finding{"pipeline.partition", Severity::kNote, "--pp-partition", Describe(plan), ""};
  if (differs_from_own) {
    finding.message += "; the engine's own split, " + Describe(*own) + Against(plan, *own);
  }
  if (!rescues && !holds_more) {
    if (best.settled && !has_better) finding.message += "; moving a layer does not help";
    return finding;
  }
  if (!differs_from_own || best.plan.stages != own->stages) {
    finding.message += "; " + Describe(best.plan) + Against(plan, best.plan);
  }
  finding.severity = Severity::kWarning;
  finding.fix = "--pp-partition " + FormatPartition(best.plan.stages);
  return finding;
}

}  // namespace shardplan
