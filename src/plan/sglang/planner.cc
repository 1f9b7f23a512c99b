#include "plan/sglang/planner.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/sglang/offload.h"
#include "engine/sglang/weights.h"
#include "plan/issue_match.h"
#include "plan/request.h"
#include "plan/search.h"
#include "plan/sglang/assemble.h"
#include "plan/sglang/notes.h"
#include "plan/weight_items.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

// Hundredths of --mamba-full-memory-ratio: the smallest that has slots for what is asked.
std::optional<int64_t> RatioThatFits(const Evaluator& evaluate, const Deployment& deployment) {
  if (deployment.sglang.max_mamba_cache_size) return std::nullopt;
  Deployment changed = deployment;
  const auto with = [&](int64_t hundredths) {
    changed.sglang.mamba_full_memory_ratio = static_cast<double>(hundredths) / 100;
    return evaluate(changed);
  };
  const auto has_slots = [&](int64_t hundredths) {
    const std::optional<Plan> plan = with(hundredths);
    return plan && plan->static_memory && plan->static_memory->states &&
           plan->static_memory->states->requests >= deployment.require_concurrency;
  };
  constexpr int64_t kMost = 1000;
  if (!has_slots(kMost)) return std::nullopt;
  const int64_t smallest = SmallestThat(0, kMost, has_slots);
  const std::optional<Plan> plan = with(smallest);
  if (!plan || plan->verdict != Verdict::kFits) return std::nullopt;
  return smallest;
}

// Requests that run at once: what each keeps, and what graphs of fewer leave, may be what is short.
std::optional<int64_t> RequestsThatFit(const Evaluator& evaluate, const Deployment& deployment) {
  constexpr int64_t kMost = 4096;
  Deployment changed = deployment;
  const auto too_many = [&](int64_t requests) {
    changed.sglang.max_running_requests = requests;
    return !FitsBy(evaluate, changed);
  };
  const int64_t least = deployment.require_concurrency * std::max<int64_t>(1, deployment.sizes.dp);
  const int64_t most = deployment.sglang.max_running_requests.value_or(kMost);
  if (most <= least || too_many(least)) return std::nullopt;
  if (!too_many(most)) return most;
  return SmallestThat(least, most, too_many) - 1;
}

}  // namespace

Result<Plan> SglangPlanner::Assemble(const Deployment& deployment, bool brief) const {
  return AssembleSglang(environment_, deployment, brief);
}

std::string SglangPlanner::DescribeFix(const Deployment& deployment, const Plan& plan) const {
  const Evaluator evaluate = [&](const Deployment& d) -> std::optional<Plan> {
    Result<Plan> made = AssembleSglang(environment_, d, /*brief=*/true);
    if (!made) return std::nullopt;
    ApplyIssues(&*made, plan.findings);
    return std::move(*made);
  };
  Deployment base = deployment;
  // Its ranks are those of TP.
  base.sizes.dp_in_tp = base.sglang.enable_dp_attention && base.sizes.dp > 1;
  std::string first;
  const bool upcast = std::any_of(plan.findings.begin(), plan.findings.end(),
                                  [](const Finding& f) { return f.id == "sglang.expert_upcast"; });
  if (upcast) {
    // Nothing else is worth looking at while experts take 3.8 times their bytes.
    base.sglang.moe_runner_backend = "marlin";
    first = "--moe-runner-backend marlin";
    if (FitsBy(evaluate, base)) return first;
  }
  std::vector<std::string> fixes;
  if (const auto fraction = FractionThatFits(evaluate, base)) {
    fixes.push_back(fmt::format("--mem-fraction-static {:.3f} (the smallest that fits)",
                                static_cast<double>(*fraction) / 1000));
  }
  if (environment_.model->arch.has_state()) {
    if (const auto ratio = RatioThatFits(evaluate, base)) {
      fixes.push_back(
          fmt::format("--mamba-full-memory-ratio {:.2f} (the smallest with states "
                      "enough)",
                      static_cast<double>(*ratio) / 100));
    }
  }
  if (environment_.model->arch.moe.experts > 0 && base.sglang.ep_size < base.sizes.tp) {
    Deployment whole = base;
    whole.sglang.ep_size = base.sizes.tp;
    if (FitsBy(evaluate, whole)) {
      fixes.push_back(fmt::format("--ep-size {} (on the same cards)", base.sizes.tp));
    }
  }
  if (!base.sglang.disable_radix_cache && environment_.model->arch.has_state()) {
    Deployment without = base;
    without.sglang.disable_radix_cache = true;
    if (FitsBy(evaluate, without)) fixes.push_back("--disable-radix-cache (one state a request)");
  }
  if (base.sglang.max_mamba_cache_size) {
    Deployment without = base;
    without.sglang.max_mamba_cache_size.reset();
    if (FitsBy(evaluate, without)) {
      fixes.push_back("no --max-mamba-cache-size (--mamba-full-memory-ratio divides)");
    }
  }
  if (const auto requests = RequestsThatFit(evaluate, base)) {
    fixes.push_back(fmt::format("--max-running-requests {} (the most that fit)", *requests));
  }
  if (const auto window = LargestWindowBy(evaluate, base)) {
    fixes.push_back(DescribeWindow("--context-length", *window));
  }
  if (const auto cards = FewestCardsBy(evaluate, base, CardsPerNode(environment_.gpu, base),
                                       environment_.model->arch.layers())) {
    fixes.push_back(DescribeCards("--tp-size", "--pp-size", base, *cards));
  }
  if (!fixes.empty()) return JoinFixes(fixes, first);
  const std::string nothing = "nothing nearby fits: fewer tokens, more or larger cards";
  return first.empty() ? nothing : first + " is not enough, and " + nothing;
}

Result<std::vector<WeightItem>> SglangPlanner::ExplainWeights(const Deployment& deployment,
                                                              int64_t rank) const {
  SglangPrepared p;
  SHARDPLAN_RETURN_IF_ERROR(PrepareSglang(environment_, deployment, &p));
  SHARDPLAN_RETURN_IF_ERROR(CheckLegal(p.legal, p.findings));
  SHARDPLAN_RETURN_IF_ERROR(CheckRank(rank, p.sizes.world()));
  const Model& model = *environment_.model;
  const int64_t i = p.places[static_cast<size_t>(rank)].stage;
  const StageRange& stage = p.stages[static_cast<size_t>(i)];
  const auto weights = sglang::WeightsOn(p.context, sglang::RulesFor(p.context));
  WeightItems items(model.shape_basis);
  items.AddStage(model.table, *weights, stage, i == 0, i + 1 == p.sizes.pp);
  std::vector<WeightItem> out = items.Take();
  if (p.draft) {
    out.push_back({"draft", p.draft->source, "", 1, p.draft->weights, p.draft->basis,
                   deployment.sglang.speculative_algorithm});
  }
  for (const sglang::ExtraBytes& extra : sglang::Extras(p.context, stage)) {
    out.push_back({extra.name, extra.rule, "", 1, extra.bytes, Basis::kDerived, extra.source});
  }
  return out;
}

}  // namespace shardplan
