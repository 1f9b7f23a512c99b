#include "plan/fixes.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/assemble.h"
#include "plan/issue_match.h"
#include "plan/notes.h"
#include "plan/request.h"
#include "plan/search.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

Evaluator EvaluatorOf(const Environment& env) {
  return [&env](const Deployment& deployment) -> std::optional<Plan> {
    Result<Plan> plan = Assemble(env, deployment, /*brief=*/true);
    if (!plan) return std::nullopt;
    ApplyIssues(&*plan);
    return std::move(*plan);
  };
}

bool Fits(const Environment& env, const Deployment& deployment) {
  return FitsBy(EvaluatorOf(env), deployment);
}

}  // namespace

std::optional<Deployment> SmallestOffload(const Environment& env, const Deployment& deployment) {
  const std::optional<Plan> now = EvaluatorOf(env)(deployment);
  if (!now) return std::nullopt;
  std::vector<std::string> params = deployment.settings.cpu_offload_params;
  if (params.empty() && env.model->arch.moe.experts > 0) params = {"w13_weight", "w2_weight"};
  std::optional<OffloadFound> found =
      SmallestOffloadBy(EvaluatorOf(env), deployment, *now, params,
                        [](const std::optional<Plan>& plan) { return plan && CardsHold(*plan); });
  // The cards would hold it; what the nodes' own memory says comes after that.
  if (!found || !found->holds || found->plan->verdict != Verdict::kFits) return std::nullopt;
  return std::move(found->deployment);
}

std::optional<Deployment> LargestFittingWindow(const Environment& env,
                                               const Deployment& deployment) {
  return LargestWindowBy(EvaluatorOf(env), deployment);
}

std::optional<Deployment> FewestCards(const Environment& env, const Deployment& deployment) {
  return FewestCardsBy(EvaluatorOf(env), deployment, CardsPerNode(env.gpu, deployment),
                       env.model->arch.layers());
}

std::string DescribeFix(const Environment& env, const Deployment& deployment, const Plan& plan) {
  const bool outside = std::any_of(
      plan.findings.begin(), plan.findings.end(),
      [](const Finding& f) { return f.id == "fit.free_memory" || f.id == "fit.outside_budget"; });
  if (!outside) {
    const std::vector<std::string> fixes = DescribeFixes(env, deployment);
    return fixes.empty() ? "nothing nearby fits: fewer tokens, more or larger cards"
                         : JoinFixes(fixes);
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
                       : JoinFixes(fixes, text);
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
    fixes.push_back(DescribeWindow("--max-model-len", *window));
  }
  if (const auto cards = FewestCards(env, deployment)) {
    fixes.push_back(DescribeCards("--tp", "--pp", deployment, *cards));
  }
  return fixes;
}

}  // namespace shardplan
