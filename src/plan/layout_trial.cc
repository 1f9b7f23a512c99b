#include "plan/layout_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "plan/search.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

// Partitions of one layout that are tried at most: deep pipelines end near the default one.
constexpr int64_t kMostPartitions = 96;

Bytes LeastHeadroom(const Plan& plan) {
  std::optional<Bytes> least;
  for (const RankPlan& rank : plan.ranks) {
    least = std::min(least.value_or(rank.headroom), rank.headroom);
  }
  return least.value_or(Bytes());
}

// How good a partition is: what fits before what does not, then capacity, then what is to spare.
auto Merit(const Plan& plan) {
  const bool fits = plan.verdict == Verdict::kFits;
  return std::tuple(plan.verdict != Verdict::kIllegal, fits,
                    fits && plan.kv ? plan.kv->max_concurrency : 0.0, LeastHeadroom(plan));
}

// The scheduler may allow fewer requests than the cache holds.
Score ScoreOf(const Plan& plan, const Deployment& d) {
  const std::optional<int64_t>& allowed =
      d.engine == "sglang" ? d.sglang.max_running_requests : d.settings.max_num_seqs;
  Score score;
  if (plan.kv) {
    const double held = plan.kv->max_concurrency;
    const double run = allowed ? std::min(held, static_cast<double>(*allowed)) : held;
    score.concurrency = run * static_cast<double>(plan.sizes.dp);
  }
  score.window = plan.window.max_model_len;
  score.gpus = plan.sizes.world();
  for (const RankPlan& rank : plan.ranks) score.offload = std::max(score.offload, rank.offloaded);
  if (plan.traffic) score.network_per_token = plan.traffic->decode.NetworkPerToken();
  return score;
}

class Trier {
 public:
  Trier(FigureEvaluator& evaluator, const Architecture& arch, const SearchVariant& variant)
      : evaluator_(evaluator), arch_(arch), variant_(variant) {}

  Trial Try(Deployment d) {
    out_.deployment = std::move(d);
    Result<Plan> first = Evaluate(out_.deployment);
    if (!first) {
      out_.refused = first.error();
      Reject("refused", first.error().ToString());
      return std::move(out_);
    }
    Plan plan = std::move(*first);
    out_.illegal = plan.verdict == Verdict::kIllegal;
    if (out_.illegal) {
      RejectIllegal(plan);
      return std::move(out_);
    }
    if (out_.deployment.sizes.pp > 1 && !variant_.given.partition) Repartition(&plan);
    const bool may_offload = out_.deployment.engine == "vllm" && !variant_.given.offload;
    if (plan.verdict == Verdict::kDoesNotFit && may_offload) Offload(&plan);
    if (plan.verdict == Verdict::kFits) {
      out_.score = ScoreOf(plan, out_.deployment);
    } else {
      RejectShort(plan);
    }
    return std::move(out_);
  }

 private:
  Result<Plan> Evaluate(const Deployment& deployment) {
    ++out_.evaluated;
    return evaluator_.Evaluate(deployment);
  }

  // Moves single layers over the boundaries of the stages as long as that is better.
  void Repartition(Plan* plan) {
    while (out_.evaluated < kMostPartitions) {
      std::vector<int64_t> now;
      for (const StageRange& stage : plan->stages) now.push_back(stage.count);
      std::optional<std::pair<Deployment, Plan>> best;
      for (size_t boundary = 0; boundary + 1 < now.size(); ++boundary) {
        for (const int64_t step : {int64_t{1}, int64_t{-1}}) {
          std::vector<int64_t> next = now;
          next[boundary] += step;
          next[boundary + 1] -= step;
          if (next[boundary] < 1 || next[boundary + 1] < 1) continue;
          Deployment moved = out_.deployment;
          moved.partition = next;
          Result<Plan> tried = Evaluate(moved);
          if (!tried || Merit(*tried) <= Merit(best ? best->second : *plan)) continue;
          best.emplace(std::move(moved), std::move(*tried));
        }
      }
      if (!best) return;
      out_.deployment = std::move(best->first);
      *plan = std::move(best->second);
    }
  }

  // The smallest offload, in whole GiB a card: of the experts alone, as `plan` proposes it, or of
  // whatever comes first. Where none is enough, the largest tells what is short then.
  void Offload(Plan* plan) {
    std::vector<std::vector<std::string>> choices = {out_.deployment.settings.cpu_offload_params};
    if (arch_.moe.experts > 0 && choices[0].empty()) {
      choices.insert(choices.begin(), {"w13_weight", "w2_weight"});
    }
    Bytes most;
    for (const RankPlan& rank : plan->ranks) most = std::max(most, rank.detail.parameters);
    const int64_t high = CeilDiv(most.count(), kGiB) + 1;
    const Deployment without = out_.deployment;
    std::optional<Bytes> least;
    for (const std::vector<std::string>& params : choices) {
      Deployment changed = without;
      changed.settings.offload_backend = "uva";
      changed.settings.cpu_offload_params = params;
      std::optional<Plan> tried;
      const auto fits = [&](int64_t gib) {
        changed.settings.cpu_offload_gb = static_cast<double>(gib);
        Result<Plan> at = Evaluate(changed);
        tried.reset();
        if (at) tried = std::move(*at);
        return tried && tried->verdict == Verdict::kFits;
      };
      if (!fits(high)) {
        if (!least && tried && IsNearer(*tried, *plan)) Keep(changed, std::move(*tried), plan);
        continue;
      }
      if (!fits(SmallestThat(0, high, fits))) continue;
      const Bytes offloaded = ScoreOf(*tried, changed).offload;
      if (least && offloaded >= *least) continue;
      least = offloaded;
      Keep(changed, std::move(*tried), plan);
    }
  }

  static bool IsNearer(const Plan& a, const Plan& b) {
    return a.limiting && b.limiting && a.limiting->short_by < b.limiting->short_by;
  }

  void Keep(const Deployment& deployment, Plan&& found, Plan* plan) {
    out_.deployment = deployment;
    *plan = std::move(found);
  }

  void Reject(std::string id, const std::string& what) {
    out_.reason_id = std::move(id);
    out_.example = NameOf(out_.deployment, variant_.settings) + ": " + what;
  }

  void RejectIllegal(const Plan& plan) {
    const auto error =
        std::find_if(plan.findings.begin(), plan.findings.end(),
                     [](const Finding& f) { return f.severity == Severity::kError; });
    const bool known = error != plan.findings.end();
    Reject(known ? error->id : "illegal", known ? error->message : "illegal");
  }

  void RejectShort(const Plan& plan) {
    const Limiting limiting = plan.limiting.value_or(Limiting());
    out_.short_by = limiting.short_by;
    Reject(fmt::format("short.{}", ToString(limiting.account)),
           fmt::format("{} short on rank {}", FormatGiB(limiting.short_by), limiting.rank));
  }

  FigureEvaluator& evaluator_;
  const Architecture& arch_;
  const SearchVariant& variant_;
  Trial out_;
};

}  // namespace

std::string NameOf(const Deployment& d, const std::vector<OptionValue>& settings) {
  const ParallelSizes& s = d.sizes;
  const bool sglang = d.engine == "sglang";
  const bool inside = sglang && d.sglang.enable_dp_attention;
  std::string text = fmt::format("TP{}", s.tp);
  if (s.pp > 1) text += fmt::format(" × PP{}", s.pp);
  if (d.partition) text += fmt::format(" ({})", fmt::join(*d.partition, ","));
  if (s.dp > 1) text += fmt::format("{}{}", inside ? ", attention DP" : " × DP", s.dp);
  if (s.dcp > 1) text += fmt::format(", DCP{}", s.dcp);
  if (sglang && d.sglang.ep_size > 1) text += fmt::format(", EP{}", d.sglang.ep_size);
  if (!sglang && s.expert_parallel) text += " with expert parallel";
  if (!sglang && d.settings.cpu_offload_gb > 0) {
    text += fmt::format(", {:.0f} GiB offloaded", d.settings.cpu_offload_gb);
  }
  for (const auto& [option, value] : settings) text += fmt::format(", {} {}", option, value);
  return text;
}

Trial TryLayout(FigureEvaluator& evaluator, const Architecture& arch, const SearchVariant& variant,
                Deployment deployment) {
  return Trier(evaluator, arch, variant).Try(std::move(deployment));
}

}  // namespace shardplan
