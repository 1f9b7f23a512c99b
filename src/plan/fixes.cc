#include "plan/fixes.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "plan/assemble.h"
#include "plan/notes.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

// Windows below it are no way out, but a quarter of what was asked for always is.
constexpr int64_t kSmallestWindow = 1024;

std::optional<Plan> Evaluated(const Environment& env, const Deployment& deployment) {
  Result<Plan> plan = Assemble(env, deployment, /*brief=*/true);
  if (!plan) return std::nullopt;
  return std::move(*plan);
}

bool Fits(const Environment& env, const Deployment& deployment) {
  const std::optional<Plan> plan = Evaluated(env, deployment);
  return plan && plan->verdict == Verdict::kFits;
}

// The smallest value in (low, high] for which `fits` holds, given that it holds for `high` and that
// it is monotone.
template <typename Predicate>
int64_t Smallest(int64_t low, int64_t high, Predicate fits) {
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (fits(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace

std::optional<Deployment> SmallestOffload(const Environment& env, const Deployment& deployment) {
  const std::optional<Plan> now = Evaluated(env, deployment);
  if (!now || now->ranks.empty()) return std::nullopt;
  Bytes most;
  for (const RankPlan& rank : now->ranks) most = std::max(most, rank.detail.parameters);
  Deployment changed = deployment;
  const bool moe = env.model->arch.moe.experts > 0;
  if (changed.settings.cpu_offload_params.empty() && moe) {
    changed.settings.cpu_offload_params = {"w13_weight", "w2_weight"};
  }
  auto fits = [&](int64_t gib) {
    changed.settings.cpu_offload_gb = static_cast<double>(gib);
    return Fits(env, changed);
  };
  const auto low = static_cast<int64_t>(deployment.settings.cpu_offload_gb);
  const int64_t high = CeilDiv(most.count(), kGiB) + 1;
  if (high <= low || !fits(high)) return std::nullopt;
  changed.settings.cpu_offload_gb = static_cast<double>(Smallest(low, high, fits));
  changed.settings.offload_backend = "uva";
  return changed;
}

std::optional<Deployment> LargestFittingWindow(const Environment& env,
                                               const Deployment& deployment) {
  const std::optional<Plan> now = Evaluated(env, deployment);
  if (!now) return std::nullopt;
  Deployment changed = deployment;
  changed.settings.max_model_len_auto = false;
  auto too_long = [&](int64_t tokens) {
    changed.settings.max_model_len = tokens;
    return !Fits(env, changed);
  };
  const int64_t high = now->window.max_model_len;
  // A window holds the output that was asked for and a token of input, and is one that somebody
  // could use: nobody who wants 128K is helped by 107 tokens.
  const int64_t low =
      std::max({deployment.output_tokens.value_or(0) + 1, deployment.typical_tokens.value_or(1),
                std::min(kSmallestWindow, CeilDiv(high, 4))});
  if (high <= low || too_long(low)) return std::nullopt;
  changed.settings.max_model_len = Smallest(low, high, too_long) - 1;
  return changed;
}

std::optional<Deployment> FewestCards(const Environment& env, const Deployment& deployment) {
  const int64_t per_node = CardsPerNode(env.gpu, deployment);
  const int64_t layers = env.model->arch.layers();
  std::optional<Deployment> best;
  // Fewest nodes first, then fewest stages, then fewest cards: what one would ask for.
  const auto cost = [&](const Deployment& d) {
    return std::tuple(*d.nodes, d.sizes.pp, d.sizes.world());
  };
  for (int64_t tp = deployment.sizes.tp; tp <= std::max(per_node, deployment.sizes.tp); tp *= 2) {
    for (int64_t pp = deployment.sizes.pp; pp <= std::min<int64_t>(layers, 64); ++pp) {
      Deployment changed = deployment;
      changed.sizes.tp = tp;
      changed.sizes.pp = pp;
      changed.partition.reset();
      changed.nodes = CeilDiv(changed.sizes.world(), per_node);
      if (*changed.nodes > 64) break;
      if (best && cost(changed) >= cost(*best)) continue;
      if (!Fits(env, changed)) continue;
      best = std::move(changed);
      break;
    }
  }
  return best;
}

std::string DescribeFix(const Environment& env, const Deployment& deployment, const Plan& plan) {
  const auto joined = [](const std::vector<std::string>& fixes) {
    return fmt::format("{}", fmt::join(fixes, "; or "));
  };
  const bool outside = std::any_of(
      plan.findings.begin(), plan.findings.end(),
      [](const Finding& f) { return f.id == "fit.free_memory" || f.id == "fit.outside_budget"; });
  if (!outside) {
    const std::vector<std::string> fixes = DescribeFixes(env, deployment);
    return fixes.empty() ? "nothing nearby fits: fewer tokens, more or larger cards"
                         : joined(fixes);
  }
  // What lies outside the budget needs a smaller one first; then the rest is seen.
  Deployment lower = deployment;
  lower.settings.gpu_memory_utilization = RoomyUtilization(plan);
  if (*lower.settings.gpu_memory_utilization <= 0) return "free the cards of other processes first";
  const std::string text =
      fmt::format("--gpu-memory-utilization {:.3f}", *lower.settings.gpu_memory_utilization);
  if (Fits(env, lower)) return text;
  const std::vector<std::string> fixes = DescribeFixes(env, lower);
  return fixes.empty() ? text + " is not enough: fewer tokens, more or larger cards"
                       : text + " with " + joined(fixes);
}

std::vector<std::string> DescribeFixes(const Environment& env, const Deployment& deployment) {
  std::vector<std::string> fixes;
  if (deployment.settings.kv_cache_memory_bytes) {
    Deployment measured = deployment;
    measured.settings.kv_cache_memory_bytes.reset();
    if (Fits(env, measured)) {
      fixes.push_back("no --kv-cache-memory-bytes (the cache takes what is left)");
    }
  }
  if (deployment.settings.num_gpu_blocks_override) {
    Deployment measured = deployment;
    measured.settings.num_gpu_blocks_override.reset();
    if (Fits(env, measured)) {
      fixes.push_back("no --num-gpu-blocks-override (the cache takes what is left)");
    }
  }
  if (env.model->arch.moe.experts > 0 && !deployment.sizes.expert_parallel) {
    Deployment whole = deployment;
    whole.sizes.expert_parallel = true;
    if (Fits(env, whole)) fixes.push_back("--enable-expert-parallel (on the same cards)");
  }
  if (const auto offload = SmallestOffload(env, deployment)) {
    std::string text = fmt::format("--cpu-offload-gb {}", offload->settings.cpu_offload_gb);
    const std::vector<std::string>& params = offload->settings.cpu_offload_params;
    if (!params.empty() && params != deployment.settings.cpu_offload_params) {
      text += fmt::format(" --cpu-offload-params {}", fmt::join(params, ","));
    }
    fixes.push_back(text + " (the smallest offload that fits)");
  }
  if (const auto window = LargestFittingWindow(env, deployment)) {
    fixes.push_back(fmt::format("--max-model-len {} (the largest window that fits)",
                                *window->settings.max_model_len));
  }
  if (const auto cards = FewestCards(env, deployment)) {
    std::string text = fmt::format("--nodes {}", *cards->nodes);
    if (cards->sizes.tp != deployment.sizes.tp) text += fmt::format(" --tp {}", cards->sizes.tp);
    if (cards->sizes.pp != deployment.sizes.pp) text += fmt::format(" --pp {}", cards->sizes.pp);
    if (deployment.partition) text += " without --pp-partition";
    fixes.push_back(text +
                    fmt::format(" ({} cards, the fewest nodes that fit)", cards->sizes.world()));
  }
  return fixes;
}

}  // namespace shardplan
