#include "shardplan/plan/layout_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "plan/layout_space.h"
#include "plan/request.h"
#include "plan/search.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

// Layers that are moved at most from the default partition, over all boundaries.
constexpr int kMostMoves = 24;

Bytes LeastHeadroom(const Plan& plan) {
  std::optional<Bytes> least;
  for (const RankPlan& rank : plan.ranks)
    least = std::min(least.value_or(rank.headroom), rank.headroom);
  return least.value_or(Bytes());
}

// How good a partition is: what fits before what does not, then capacity, then what is to spare.
auto Merit(const Plan& plan) {
  const bool fits = plan.verdict == Verdict::kFits;
  return std::tuple(plan.verdict != Verdict::kIllegal, fits,
                    fits && plan.kv ? plan.kv->max_concurrency : 0.0, LeastHeadroom(plan));
}

Score ScoreOf(const Plan& plan) {
  Score score;
  if (plan.kv) score.concurrency = plan.kv->max_concurrency * static_cast<double>(plan.sizes.dp);
  score.window = plan.window.max_model_len;
  score.gpus = plan.sizes.world();
  for (const RankPlan& rank : plan.ranks) score.offload = std::max(score.offload, rank.offloaded);
  return score;
}

// "sglang TP8 × PP2, EP8 on 16 cards"
std::string NameOf(const Deployment& d, const std::vector<OptionValue>& settings) {
  const ParallelSizes& s = d.sizes;
  const bool sglang = d.engine == "sglang";
  const bool inside = sglang && d.sglang.enable_dp_attention;
  std::string text = fmt::format("TP{}", s.tp);
  if (s.pp > 1) text += fmt::format(" × PP{}", s.pp);
  if (s.dp > 1) text += fmt::format("{}{}", inside ? ", attention DP" : " × DP", s.dp);
  if (s.dcp > 1) text += fmt::format(", DCP{}", s.dcp);
  if (sglang && d.sglang.ep_size > 1) text += fmt::format(", EP{}", d.sglang.ep_size);
  if (!sglang && s.expert_parallel) text += " with expert parallel";
  for (const auto& [option, value] : settings) text += fmt::format(", {} {}", option, value);
  return text;
}

class Searcher {
 public:
  Searcher(const Model& model, const Catalog& catalog, const ConfigStore& store,
           const SearchRequest& request)
      : model_(model),
        catalog_(catalog),
        store_(store),
        request_(request),
        evaluator_(model, catalog, store) {}

  Result<SearchResult> Run() {
    std::vector<std::pair<const SearchVariant*, Deployment>> all;
    for (const SearchVariant& variant : request_.variants) {
      SHARDPLAN_ASSIGN_OR_RETURN(const GpuSpec gpu, catalog_.FindGpu(variant.base.gpu));
      out_.gpu_name = gpu.name;
      out_.cards_per_node = CardsPerNode(gpu, variant.base);
      for (Deployment& d : LayoutsOf(variant.base, variant.given, model_.arch, request_.nodes,
                                     out_.cards_per_node)) {
        all.emplace_back(&variant, std::move(d));
      }
    }
    out_.layouts = static_cast<int64_t>(all.size());
    for (auto& [variant, deployment] : all) Try(*variant, std::move(deployment));
    // Wrong for every layout alike: a word that no engine knows, say.
    if (refused_ && !answered_) return tl::unexpected(*refused_);
    out_.feasible = static_cast<int64_t>(found_.size());
    Rank();
    Propose();
    CountRejections();
    return std::move(out_);
  }

 private:
  struct Found {
    const SearchVariant* variant;
    Deployment deployment;
    Score score;
    bool pareto = false;
  };
  struct Reason {
    int64_t count = 0;
    std::string example;
    std::optional<Bytes> short_by;  // of the example
  };

  Result<Plan> Evaluate(const Deployment& deployment) {
    ++out_.evaluated;
    return evaluator_.Evaluate(deployment);
  }

  void Try(const SearchVariant& variant, Deployment d) {
    Result<Plan> plan = Evaluate(d);
    if (!plan) {
      if (!refused_) refused_ = plan.error();
      Reject("refused", NameOf(d, variant.settings), plan.error().ToString());
      return;
    }
    if (plan->verdict == Verdict::kIllegal) return RejectIllegal(variant, d, *plan);
    answered_ = true;
    if (d.sizes.pp > 1 && !variant.given.partition) Repartition(&d, &*plan);
    if (plan->verdict == Verdict::kDoesNotFit && d.engine == "vllm" && !variant.given.offload) {
      Offload(&d, &*plan);
    }
    if (plan->verdict == Verdict::kDoesNotFit) return RejectShort(variant, d, *plan);
    found_.push_back({&variant, std::move(d), ScoreOf(*plan)});
  }

  // Moves single layers over the boundaries of the stages as long as that is better.
  void Repartition(Deployment* d, Plan* plan) {
    for (int move = 0; move < kMostMoves; ++move) {
      std::vector<int64_t> now;
      for (const StageRange& stage : plan->stages) now.push_back(stage.count);
      std::optional<std::pair<Deployment, Plan>> best;
      for (size_t boundary = 0; boundary + 1 < now.size(); ++boundary) {
        for (const int64_t step : {int64_t{1}, int64_t{-1}}) {
          std::vector<int64_t> next = now;
          next[boundary] += step;
          next[boundary + 1] -= step;
          if (next[boundary] < 1 || next[boundary + 1] < 1) continue;
          Deployment moved = *d;
          moved.partition = next;
          Result<Plan> tried = Evaluate(moved);
          if (!tried || Merit(*tried) <= Merit(best ? best->second : *plan)) continue;
          best.emplace(std::move(moved), std::move(*tried));
        }
      }
      if (!best) return;
      *d = std::move(best->first);
      *plan = std::move(best->second);
    }
  }

  // The smallest offload, in whole GiB a card; experts first, as `plan` proposes it.
  void Offload(Deployment* d, Plan* plan) {
    Deployment changed = *d;
    changed.settings.offload_backend = "uva";
    if (model_.arch.moe.experts > 0) {
      changed.settings.cpu_offload_params = {"w13_weight", "w2_weight"};
    }
    Bytes most;
    for (const RankPlan& rank : plan->ranks) most = std::max(most, rank.detail.parameters);
    std::optional<Plan> fitting;
    const auto fits = [&](int64_t gib) {
      changed.settings.cpu_offload_gb = static_cast<double>(gib);
      Result<Plan> tried = Evaluate(changed);
      if (!tried || tried->verdict != Verdict::kFits) return false;
      fitting = std::move(*tried);
      return true;
    };
    const int64_t high = CeilDiv(most.count(), kGiB) + 1;
    if (!fits(high)) return;
    const int64_t smallest = SmallestThat(0, high, fits);
    if (!fits(smallest)) return;
    *d = std::move(changed);
    *plan = std::move(*fitting);
  }

  void Reject(const std::string& id, const std::string& name, const std::string& what) {
    Reason& reason = reasons_[id];
    if (reason.count++ == 0) reason.example = name + ": " + what;
  }

  void RejectIllegal(const SearchVariant& variant, const Deployment& d, const Plan& plan) {
    const auto error =
        std::find_if(plan.findings.begin(), plan.findings.end(),
                     [](const Finding& f) { return f.severity == Severity::kError; });
    const bool known = error != plan.findings.end();
    Reject(known ? error->id : "illegal", NameOf(d, variant.settings),
           known ? error->message : "illegal");
  }

  void RejectShort(const SearchVariant& variant, const Deployment& d, const Plan& plan) {
    const Limiting limiting = plan.limiting.value_or(Limiting());
    Reason& reason = reasons_[fmt::format("short.{}", ToString(limiting.account))];
    ++reason.count;
    if (reason.short_by && *reason.short_by <= limiting.short_by) return;
    reason.short_by = limiting.short_by;
    reason.example =
        fmt::format("{}: {} short on rank {}, the nearest miss", NameOf(d, variant.settings),
                    FormatGiB(limiting.short_by), limiting.rank);
  }

  // Better ones are less: the objectives in turn, then what one would rather run.
  auto KeyOf(const Found& found) const {
    std::vector<double> key;
    const Score& s = found.score;
    const auto add = [&](Objective objective) {
      switch (objective) {
        case Objective::kMaxConcurrency:
          return key.push_back(-s.concurrency);
        case Objective::kMaxWindow:
          return key.push_back(-static_cast<double>(s.window));
        case Objective::kMinGpus:
          return key.push_back(static_cast<double>(s.gpus));
        case Objective::kMinOffload:
          return key.push_back(static_cast<double>(s.offload.count()));
      }
    };
    for (const Objective objective : request_.objectives) add(objective);
    for (const Objective objective : {Objective::kMinOffload, Objective::kMaxConcurrency,
                                      Objective::kMinGpus, Objective::kMaxWindow}) {
      add(objective);
    }
    const Deployment& d = found.deployment;
    // A tensor-parallel group over the network last; then fewer of everything.
    key.push_back(d.sizes.tp > out_.cards_per_node);
    for (const int64_t size : {d.sizes.pp, d.sizes.dp, d.sizes.dcp, d.sglang.ep_size}) {
      key.push_back(static_cast<double>(size));
    }
    key.push_back(d.sizes.expert_parallel);
    return key;
  }

  void Rank() {
    for (Found& found : found_) {
      found.pareto = std::none_of(found_.begin(), found_.end(), [&](const Found& other) {
        return other.score.Dominates(found.score);
      });
    }
    std::vector<std::pair<std::vector<double>, size_t>> order;
    for (size_t i = 0; i < found_.size(); ++i) order.emplace_back(KeyOf(found_[i]), i);
    std::sort(order.begin(), order.end());
    std::vector<Found> sorted;
    for (const auto& [key, i] : order) sorted.push_back(std::move(found_[i]));
    found_ = std::move(sorted);
  }

  void Propose() {
    using Shape = std::tuple<std::string, std::string, int64_t, int64_t, int64_t, bool>;
    std::map<Shape, size_t> told;  // index of the candidate
    for (Found& found : found_) {
      const Deployment& d = found.deployment;
      const Shape shape(d.engine, d.engine_version, d.sizes.tp, d.sizes.pp, d.sizes.dp,
                        d.sglang.enable_dp_attention);
      if (const auto at = told.find(shape); at != told.end()) {
        ++out_.candidates[at->second].alike;
        continue;
      }
      if (out_.candidates.size() == request_.limit) continue;
      Result<Plan> plan = EvaluatePlan(model_, catalog_, store_, d);
      if (!plan || plan->verdict != Verdict::kFits) {
        --out_.feasible;
        Reject("plan.disagrees", NameOf(d, found.variant->settings),
               plan ? "the whole plan does not fit" : plan.error().ToString());
        continue;
      }
      told[shape] = out_.candidates.size();
      out_.candidates.push_back(
          {found.variant->settings, d, std::move(*plan), found.score, found.pareto});
    }
  }

  void CountRejections() {
    for (auto& [id, reason] : reasons_) {
      out_.rejected.push_back({id, reason.count, std::move(reason.example)});
    }
    std::stable_sort(out_.rejected.begin(), out_.rejected.end(),
                     [](const Rejection& a, const Rejection& b) { return a.count > b.count; });
  }

  const Model& model_;
  const Catalog& catalog_;
  const ConfigStore& store_;
  const SearchRequest& request_;
  FigureEvaluator evaluator_;
  SearchResult out_;
  std::vector<Found> found_;
  std::map<std::string, Reason> reasons_;
  std::optional<Error> refused_;
  bool answered_ = false;  // by a plan that is not illegal
};

constexpr std::array<std::string_view, 4> kObjectives = {"max-concurrency", "max-window",
                                                         "min-gpus", "min-offload"};

}  // namespace

bool Score::Dominates(const Score& other) const {
  const bool as_good = concurrency >= other.concurrency && window >= other.window &&
                       gpus <= other.gpus && offload <= other.offload;
  return as_good && (concurrency > other.concurrency || window > other.window ||
                     gpus < other.gpus || offload < other.offload);
}

std::string_view ToString(Objective objective) {
  return kObjectives[static_cast<size_t>(objective)];
}

std::optional<Objective> ObjectiveOf(std::string_view name) {
  for (const Objective objective : AllObjectives()) {
    if (ToString(objective) == name) return objective;
  }
  return std::nullopt;
}

const std::vector<Objective>& AllObjectives() {
  static const std::vector<Objective> all = {Objective::kMaxConcurrency, Objective::kMaxWindow,
                                             Objective::kMinGpus, Objective::kMinOffload};
  return all;
}

Result<SearchResult> SearchLayouts(const Model& model, const Catalog& catalog,
                                   const ConfigStore& store, const SearchRequest& request) {
  return Searcher(model, catalog, store, request).Run();
}

}  // namespace shardplan
