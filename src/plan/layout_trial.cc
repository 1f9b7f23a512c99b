#include "plan/layout_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/vllm/all2all.h"
#include "plan/economies.h"
#include "plan/issue_match.h"
#include "plan/partition.h"
#include "plan/search.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

class Trier {
 public:
  Trier(FigureEvaluator& evaluator, const Architecture& arch, const SearchVariant& variant,
        bool may_narrow)
      : evaluator_(evaluator), arch_(arch), variant_(variant), may_narrow_(may_narrow) {}

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
    // Before memory is saved for what does not start.
    const auto issue = std::find_if(plan.findings.begin(), plan.findings.end(), IsIssueError);
    if (issue != plan.findings.end()) {
      Reject(issue->id, issue->message);
      return std::move(out_);
    }
    KeepExpertsPacked(&plan);
    if (out_.deployment.sizes.pp > 1 && !variant_.given.partition) Repartition(&plan);
    Rescue(&plan);
    if (plan.verdict == Verdict::kFits) {
      const Score score = ScoreOf(plan, out_.deployment);
      const auto required = static_cast<double>(out_.deployment.require_concurrency);
      if (score.concurrency >= required) {
        out_.score = score;
        out_.doubtful = std::any_of(plan.findings.begin(), plan.findings.end(), IsIssueDoubt);
      } else {
        // The cache has room for them; the scheduler would not run them.
        Reject("short.max_num_seqs",
               fmt::format("--max-num-seqs lets {:g} of {:g} requests run at once",
                           score.concurrency, required));
      }
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

  // SGLang without a kernel for the experts' format turns them into BF16: nobody wants that.
  void KeepExpertsPacked(Plan* plan) {
    if (variant_.given.moe_backend) return;
    const bool upcast =
        std::any_of(plan->findings.begin(), plan->findings.end(),
                    [](const Finding& f) { return f.id == "sglang.expert_upcast"; });
    if (!upcast) return;
    Deployment packed = out_.deployment;
    packed.sglang.moe_runner_backend = "marlin";
    Result<Plan> tried = Evaluate(packed);
    if (!tried || tried->verdict == Verdict::kIllegal) return;
    Keep(packed, std::move(*tried), plan);
    out_.chosen.emplace_back("moe-runner-backend", "marlin");
  }

  // For searches; `counts` is false for one that counts itself.
  Evaluator EvaluatorThat(bool counts) {
    return [this, counts](const Deployment& deployment) -> std::optional<Plan> {
      if (counts) ++out_.evaluated;
      Result<Plan> made = evaluator_.Evaluate(deployment);
      if (!made) return std::nullopt;
      return std::move(*made);
    };
  }

  void Repartition(Plan* plan) {
    PartitionPlan best = BestPartition(EvaluatorThat(/*counts=*/false), std::move(out_.deployment),
                                       std::move(*plan), &out_.evaluated);
    out_.deployment = std::move(best.deployment);
    *plan = std::move(best.plan);
  }

  // What fits at the dear end of the ranges as well, where anything does; else what fits.
  void Rescue(Plan* plan) {
    sturdy_ = true;
    out_.narrowed = false;
    if (IsGood(*plan)) return;
    const Deployment asked = out_.deployment;
    const std::vector<OptionValue> chosen = out_.chosen;
    Plan first = *plan;
    Economize(plan);
    if (IsGood(*plan)) return;
    out_.deployment = asked;
    out_.chosen = chosen;
    *plan = std::move(first);
    sturdy_ = false;
    if (!IsGood(*plan)) Economize(plan);
  }

  bool IsGood(const Plan& plan) const {
    return plan.verdict == Verdict::kFits && (!sturdy_ || plan.verdict_high == Verdict::kFits);
  }

  // The mildest economies with which it fits; where none is enough, the smallest offload beside all
  // of them, and then as few of them as that offload needs.
  void Economize(Plan* plan) {
    const bool sglang = out_.deployment.engine == "sglang";
    if (sglang) {
      MoveFraction(plan);
      if (!IsGood(*plan)) NarrowCache(plan);
      return;
    }
    SliceShared(plan);
    if (IsGood(*plan)) return;
    std::vector<Economy> economies = EconomiesOf(out_.deployment, variant_.given, *plan);
    for (Economy& economy : economies) {
      economy.chosen.insert(economy.chosen.begin(), out_.chosen.begin(), out_.chosen.end());
    }
    const bool may_offload = plan->verdict != Verdict::kFits && !variant_.given.offload;
    if (economies.size() > 1 && Settle(economies, plan)) return;
    if (NarrowCache(economies, plan)) return;
    if (!may_offload) return;
    Offload(plan);
    if (!IsGood(*plan) || economies.size() == 1) return;
    for (Economy& economy : economies) {
      EngineSettings& settings = economy.deployment.settings;
      settings.offload_backend = out_.deployment.settings.offload_backend;
      settings.cpu_offload_gb = out_.deployment.settings.cpu_offload_gb;
      settings.cpu_offload_params = out_.deployment.settings.cpu_offload_params;
    }
    Settle(economies, plan);
  }

  // Kimi-K3's shared experts, whole on every rank under sequence parallelism, can be sliced for two
  // more collectives of a layer inside the TP group: 21 GiB a card at TP8 for a variable.
  void SliceShared(Plan* plan) {
    const ParallelSizes& s = out_.deployment.sizes;
    if (!vllm::IsKimiClass(arch_) || !s.expert_parallel || s.tp == 1 || s.dp == 1 || s.pp > 1)
      return;
    std::vector<OptionValue>& env = out_.deployment.settings.env;
    if (std::any_of(env.begin(), env.end(), [](const OptionValue& variable) {
          return variable.first == vllm::kSliceSharedVariable;
        })) {
      return;
    }
    Deployment sliced = out_.deployment;
    sliced.settings.env.emplace_back(vllm::kSliceSharedVariable, "1");
    Result<Plan> tried = Evaluate(sliced);
    if (!tried || tried->ranks.empty() || plan->ranks.empty()) return;
    // Of a version that does not know the variable nothing changes.
    if (tried->ranks[0].weights >= plan->ranks[0].weights) return;
    Keep(sliced, std::move(*tried), plan);
    out_.chosen.emplace_back("env", std::string(vllm::kSliceSharedVariable) + "=1");
  }

  // The cache in FP8, which changes results a little: after everything that changes none, and only
  // where card, model and engine take it.
  bool MayNarrowCache(const Plan& plan) const {
    // Weights that do not fit leave no room for a cache of any precision; SGLang's fraction may.
    const bool weights = out_.deployment.engine == "vllm" && plan.limiting &&
                         plan.limiting->account == Account::kWeights;
    return may_narrow_ && !weights && !variant_.given.cache_dtype && !arch_.fp8_cache &&
           arch_.compress_ratio.empty() && arch_.indexer.heads == 0;
  }

  // A warning about the cache's precision is reason enough to leave it alone.
  static bool WarnsOfCache(const Plan& plan) {
    return std::any_of(plan.findings.begin(), plan.findings.end(), [](const Finding& f) {
      return f.severity != Severity::kNote && f.subject.starts_with("--kv-cache-dtype");
    });
  }

  // The mildest of `economies` with which an FP8 cache fits.
  bool NarrowCache(std::vector<Economy> economies, Plan* plan) {
    if (!MayNarrowCache(*plan)) return false;
    for (Economy& economy : economies) {
      economy.deployment.settings.kv_cache_dtype = "fp8";
      economy.chosen.emplace_back("kv-cache-dtype", "fp8");
    }
    const Deployment deployment = out_.deployment;
    const std::vector<OptionValue> chosen = out_.chosen;
    Plan wide = *plan;
    out_.narrowed = Settle(economies, plan) && !WarnsOfCache(*plan);
    if (out_.narrowed) return true;
    // A near miss of another precision is no example of what was asked for.
    out_.deployment = deployment;
    out_.chosen = chosen;
    *plan = std::move(wide);
    return false;
  }

  void NarrowCache(Plan* plan) {
    if (!MayNarrowCache(*plan)) return;
    const Deployment deployment = out_.deployment;
    const std::vector<OptionValue> chosen = out_.chosen;
    Plan wide = *plan;
    Deployment narrow = deployment;
    narrow.sglang.kv_cache_dtype = "fp8_e4m3";
    Result<Plan> tried = Evaluate(narrow);
    if (!tried || tried->verdict == Verdict::kIllegal) return;
    Keep(narrow, std::move(*tried), plan);
    out_.chosen.emplace_back("kv-cache-dtype", "fp8_e4m3");
    if (!IsGood(*plan)) MoveFraction(plan);
    out_.narrowed = IsGood(*plan) && !WarnsOfCache(*plan);
    if (out_.narrowed) return;
    out_.deployment = deployment;
    out_.chosen = chosen;
    *plan = std::move(wide);
  }

  // SGLang's fraction is a rule of thumb. Of those that fit the middle one, which has room both for
  // the pools and for what runs outside.
  void MoveFraction(Plan* plan) {
    if (variant_.given.fraction) return;
    const auto smallest = FractionThatFits(EvaluatorThat(/*counts=*/true), out_.deployment);
    if (!smallest) return;
    Deployment moved = out_.deployment;
    const auto with = [&](int64_t thousandths) {
      moved.sglang.mem_fraction_static = static_cast<double>(thousandths) / 1000;
      return Evaluate(moved);
    };
    const int64_t too_large = SmallestThat(*smallest, 1000, [&](int64_t thousandths) {
      if (thousandths == 1000) return true;
      const Result<Plan> tried = with(thousandths);
      return !tried || !IsGood(*tried);
    });
    const int64_t middle = *smallest + (too_large - 1 - *smallest) / 2;
    Result<Plan> found = with(middle);
    if (!found || !IsGood(*found)) return;
    Keep(moved, std::move(*found), plan);
    out_.chosen.emplace_back("mem-fraction-static",
                             fmt::format("{:.3f}", static_cast<double>(middle) / 1000));
  }

  // Takes the mildest of `economies` that fits, or the last one where none does.
  bool Settle(const std::vector<Economy>& economies, Plan* plan) {
    const auto take = [&](const Economy& economy, Plan&& found) {
      out_.deployment = economy.deployment;
      out_.chosen = economy.chosen;
      *plan = std::move(found);
    };
    const auto at = [&](int64_t index) -> Result<Plan> {
      return Evaluate(economies[static_cast<size_t>(index)].deployment);
    };
    const auto last = static_cast<int64_t>(economies.size()) - 1;
    Result<Plan> strictest = at(last);
    if (!strictest) return false;
    if (!IsGood(*strictest)) {
      if (IsNearer(*strictest, *plan)) take(economies.back(), std::move(*strictest));
      return false;
    }
    const int64_t mildest = SmallestThat(-1, last, [&](int64_t index) {
      const Result<Plan> tried = at(index);
      return tried && IsGood(*tried);
    });
    Result<Plan> found = at(mildest);
    if (!found || !IsGood(*found)) return false;
    take(economies[static_cast<size_t>(mildest)], std::move(*found));
    return true;
  }

  // The smallest offload, in whole GiB a card: of the experts alone, as `plan` proposes it, or of
  // whatever comes first. Where none is enough, the largest tells what is short then.
  void Offload(Plan* plan) {
    std::vector<std::vector<std::string>> choices = {out_.deployment.settings.cpu_offload_params};
    if (arch_.moe.experts > 0 && choices[0].empty()) {
      choices.insert(choices.begin(), {"w13_weight", "w2_weight"});
    }
    const Deployment without = out_.deployment;
    const Plan now = *plan;
    std::optional<Bytes> least;
    // Where the nodes' own memory is short, the cards hold more than is asked of them.
    const auto wanted = [this](const std::optional<Plan>& tried) {
      return tried && CardsHold(*tried) &&
             (!sturdy_ || tried->verdict_high == Verdict::kFits ||
              tried->verdict != Verdict::kFits);
    };
    for (const std::vector<std::string>& params : choices) {
      std::optional<OffloadFound> found =
          SmallestOffloadBy(EvaluatorThat(/*counts=*/true), without, now, params, wanted);
      if (!found || !found->plan) continue;
      if (!found->holds) {
        if (!least && IsNearer(*found->plan, *plan)) {
          Keep(found->deployment, std::move(*found->plan), plan);
        }
        continue;
      }
      if (found->plan->verdict != Verdict::kFits) {
        if (!least) Keep(found->deployment, std::move(*found->plan), plan);
        continue;
      }
      const Bytes offloaded = ScoreOf(*found->plan, found->deployment).offload;
      if (least && offloaded >= *least) continue;
      least = offloaded;
      Keep(found->deployment, std::move(*found->plan), plan);
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
    std::vector<OptionValue> settings = variant_.settings;
    settings.insert(settings.end(), out_.chosen.begin(), out_.chosen.end());
    out_.example = NameOf(out_.deployment, settings) + ": " + what;
  }

  void RejectIllegal(const Plan& plan) {
    const auto error =
        std::find_if(plan.findings.begin(), plan.findings.end(),
                     [](const Finding& f) { return f.severity == Severity::kError; });
    const bool known = error != plan.findings.end();
    Reject(known ? error->id : "illegal", known ? error->message : "illegal");
  }

  void RejectShort(const Plan& plan) {
    // The cards hold it; the nodes' own memory does not, or a known issue is in the way.
    if (!plan.limiting && HasError(plan.findings)) {
      const bool host =
          std::any_of(plan.findings.begin(), plan.findings.end(), [](const Finding& f) {
            return f.severity == Severity::kError && f.id.starts_with("host.");
          });
      if (host) out_.pinned = ScoreOf(plan, out_.deployment).offload;
      return RejectIllegal(plan);
    }
    const Limiting limiting = plan.limiting.value_or(Limiting());
    out_.short_by = limiting.short_by;
    Reject(fmt::format("short.{}", ToString(limiting.account)),
           fmt::format("{} short on rank {}", FormatGiB(limiting.short_by), limiting.rank));
  }

  FigureEvaluator& evaluator_;
  const Architecture& arch_;
  const SearchVariant& variant_;
  const bool may_narrow_;
  bool sturdy_ = true;  // what is looked for has to fit at the dear end, too
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
  for (const auto& [option, value] : settings) {
    text += ", " + option + (value.empty() ? "" : " ") + value;
  }
  return text;
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

Trial TryLayout(FigureEvaluator& evaluator, const Architecture& arch, const SearchVariant& variant,
                Deployment deployment, bool may_narrow) {
  return Trier(evaluator, arch, variant, may_narrow).Try(std::move(deployment));
}

}  // namespace shardplan
