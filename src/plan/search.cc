#include "plan/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "shardplan/base/units.h"

namespace shardplan {
namespace {

// Windows below it are no way out, but a quarter of what was asked for always is.
constexpr int64_t kSmallestWindow = 1024;
constexpr int64_t kMostNodes = 64;

}  // namespace

bool CardsHold(const Plan& plan) {
  return plan.verdict == Verdict::kFits || (plan.verdict == Verdict::kDoesNotFit && !plan.limiting);
}

bool FitsBy(const Evaluator& evaluate, const Deployment& deployment) {
  const std::optional<Plan> plan = evaluate(deployment);
  return plan && plan->verdict == Verdict::kFits;
}

int64_t SmallestThat(int64_t low, int64_t high, const std::function<bool(int64_t)>& holds) {
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (holds(middle) ? high : low) = middle;
  }
  return high;
}

std::optional<OffloadFound> SmallestOffloadBy(
    const Evaluator& evaluate, const Deployment& deployment, const Plan& now,
    const std::vector<std::string>& params,
    const std::function<bool(const std::optional<Plan>&)>& wanted) {
  Bytes most;
  for (const RankPlan& rank : now.ranks) most = std::max(most, rank.detail.parameters);
  const auto low = static_cast<int64_t>(deployment.settings.cpu_offload_gb);
  const int64_t high = CeilDiv(most.count(), kGiB) + 1;
  if (now.ranks.empty() || high <= low) return std::nullopt;
  OffloadFound out{deployment, std::nullopt, false};
  out.deployment.settings.offload_backend = "uva";
  out.deployment.settings.cpu_offload_params = params;
  const auto holds = [&](int64_t gib) {
    out.deployment.settings.cpu_offload_gb = static_cast<double>(gib);
    out.plan = evaluate(out.deployment);
    return wanted(out.plan);
  };
  out.holds = holds(high);
  // Once more for the plan: the last one that was tried need not be the smallest.
  if (out.holds) out.holds = holds(SmallestThat(low, high, holds));
  return out;
}

std::optional<Deployment> LargestWindowBy(const Evaluator& evaluate, const Deployment& deployment) {
  const std::optional<Plan> now = evaluate(deployment);
  if (!now) return std::nullopt;
  Deployment changed = deployment;
  changed.settings.max_model_len_auto = false;
  auto too_long = [&](int64_t tokens) {
    changed.settings.max_model_len = tokens;
    changed.sglang.context_length = tokens;
    return !FitsBy(evaluate, changed);
  };
  const int64_t high = now->window.max_model_len;
  // A window holds the output that was asked for and a token of input, and is one that somebody
  // could use: nobody who wants 128K is helped by 107 tokens.
  const int64_t low =
      std::max({deployment.output_tokens.value_or(0) + 1, deployment.typical_tokens.value_or(1),
                std::min(kSmallestWindow, CeilDiv(high, 4))});
  if (high <= low || too_long(low)) return std::nullopt;
  const int64_t largest = SmallestThat(low, high, too_long) - 1;
  changed.settings.max_model_len = largest;
  changed.sglang.context_length = largest;
  return changed;
}

std::optional<int64_t> FractionThatFits(const Evaluator& evaluate, const Deployment& deployment) {
  Deployment changed = deployment;
  const auto with = [&](int64_t thousandths) {
    changed.sglang.mem_fraction_static = static_cast<double>(thousandths) / 1000;
    return evaluate(changed);
  };
  const auto pools_hold = [&](int64_t thousandths) {
    const std::optional<Plan> plan = with(thousandths);
    return plan && std::none_of(plan->ranks.begin(), plan->ranks.end(),
                                [](const RankPlan& rank) { return rank.headroom < Bytes(); });
  };
  if (!pools_hold(999)) return std::nullopt;
  const int64_t smallest = SmallestThat(0, 999, pools_hold);
  const std::optional<Plan> plan = with(smallest);
  if (!plan || plan->verdict != Verdict::kFits) return std::nullopt;
  return smallest;
}

std::optional<Deployment> FewestCardsBy(const Evaluator& evaluate, const Deployment& deployment,
                                        int64_t per_node, int64_t layers) {
  std::optional<Deployment> best;
  // Fewest nodes first, then fewest stages, then fewest cards: what one would ask for.
  const auto cost = [&](const Deployment& d) {
    return std::tuple(*d.nodes, d.sizes.pp, d.sizes.world());
  };
  for (int64_t tp = deployment.sizes.tp; tp <= std::max(per_node, deployment.sizes.tp); tp *= 2) {
    for (int64_t pp = deployment.sizes.pp; pp <= std::min<int64_t>(layers, kMostNodes); ++pp) {
      Deployment changed = deployment;
      changed.sizes.tp = tp;
      changed.sizes.pp = pp;
      changed.partition.reset();
      changed.nodes = CeilDiv(changed.sizes.world(), per_node);
      if (*changed.nodes > kMostNodes) break;
      if (best && cost(changed) >= cost(*best)) continue;
      if (!FitsBy(evaluate, changed)) continue;
      best = std::move(changed);
      break;
    }
  }
  return best;
}

std::string JoinFixes(const std::vector<std::string>& fixes, const std::string& with) {
  std::string out;
  for (const std::string& fix : fixes) {
    out += out.empty() ? "" : "; or ";
    // "no --kv-cache-memory-bytes" is no option to put behind others.
    const bool option = fix.starts_with("--");
    out += with.empty() ? fix : with + (option ? " " : " and ") + fix;
  }
  return out;
}

std::string DescribeWindow(const std::string& option, const Deployment& fitting) {
  return fmt::format("{} {} (the largest window that fits)", option,
                     *fitting.settings.max_model_len);
}

std::string DescribeCards(const std::string& tp, const std::string& pp, const Deployment& asked,
                          const Deployment& fitting) {
  std::string text = fmt::format("--nodes {}", *fitting.nodes);
  if (fitting.sizes.tp != asked.sizes.tp) text += fmt::format(" {} {}", tp, fitting.sizes.tp);
  if (fitting.sizes.pp != asked.sizes.pp) text += fmt::format(" {} {}", pp, fitting.sizes.pp);
  if (asked.partition) text += " without --pp-partition";
  return text + fmt::format(" ({} cards, the fewest nodes that fit)", fitting.sizes.world());
}

}  // namespace shardplan
