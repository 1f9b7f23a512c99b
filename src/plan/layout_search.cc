#include "shardplan/plan/layout_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <exception>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "checkpoint/work_list.h"
#include "plan/cluster_use.h"
#include "plan/layout_space.h"
#include "plan/layout_trial.h"
#include "plan/request.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

constexpr int64_t kMostCards = 512;
constexpr int kFp8Capability = 89;  // Ada and newer compute in FP8

class Searcher {
 public:
  Searcher(const Model& model, const Catalog& catalog, const ConfigStore& store,
           const SearchRequest& request)
      : model_(model), catalog_(catalog), store_(store), request_(request) {}

  Result<SearchResult> Run() {
    SHARDPLAN_RETURN_IF_ERROR(Enumerate());
    const std::vector<Trial> trials = TryAll();
    const bool answered = std::any_of(trials.begin(), trials.end(),
                                      [](const Trial& t) { return !t.refused && !t.illegal; });
    for (size_t i = 0; i < trials.size(); ++i) {
      // Wrong for every layout alike: a window that no engine takes, say.
      if (trials[i].refused && !answered) return tl::unexpected(*trials[i].refused);
      Take(*layouts_[i].first, trials[i]);
    }
    out_.feasible = static_cast<int64_t>(found_.size());
    Rank();
    Propose();
    FindAlternatives();
    TellToday();
    CountRejections();
    if (out_.candidates.empty() && nearest_) TellNearest();
    return std::move(out_);
  }

 private:
  struct Found {
    const SearchVariant* variant;
    Deployment deployment;
    std::vector<OptionValue> economies;
    Score score;
    bool narrowed = false;
    bool doubtful = false;
    bool pareto = false;
  };
  struct Reason {
    int64_t count = 0;
    std::string example;
    std::optional<Bytes> short_by;  // of the example
  };

  Status Enumerate() {
    for (const SearchVariant& variant : request_.variants) {
      Deployment whole = variant.base;
      if (whole.cluster) {
        out_.cards_per_node =
            ShareOf(*whole.cluster, request_.nodes, kMostCards * kMostCards).cards_per_node;
        // Told of all cards, whatever a layout takes of them.
        whole.nodes = request_.nodes;
        whole.sizes = {};
        whole.sizes.tp = internal::CheckedMul(request_.nodes, out_.cards_per_node);
      }
      SHARDPLAN_ASSIGN_OR_RETURN(const GpuSpec gpu, CardFor(catalog_, whole));
      out_.gpu_name = gpu.name;
      may_narrow_ = gpu.vendor == "nvidia" && gpu.capability >= kFp8Capability;
      if (!whole.cluster) out_.cards_per_node = CardsPerNode(gpu, whole);
      SHARDPLAN_RETURN_IF_ERROR(CheckCards());
      for (Deployment& d : LayoutsOf(variant.base, variant.given, model_.arch, request_.nodes,
                                     out_.cards_per_node)) {
        d.traffic_of_brief_plans = WantsTraffic();
        layouts_.emplace_back(&variant, std::move(d));
      }
    }
    out_.layouts = static_cast<int64_t>(layouts_.size());
    if (out_.layouts > 0) return {};
    return Fail(
        ErrorCode::kUsage, "sizes of the layout",
        fmt::format("expected a product that fills part of a node or whole nodes of {} × {} "
                    "cards",
                    FormatCount(request_.nodes), FormatCount(out_.cards_per_node)),
        "give more --nodes, or leave a size to the search");
  }

  bool WantsTraffic() const {
    return std::find(request_.objectives.begin(), request_.objectives.end(),
                     Objective::kMinInternodeTraffic) != request_.objectives.end();
  }

  // The number of layouts grows with the square of the cards.
  Status CheckCards() const {
    const bool sound = request_.nodes >= 1 && out_.cards_per_node >= 1;
    if (sound && request_.nodes <= kMostCards / out_.cards_per_node) return {};
    return Fail(ErrorCode::kUsage, "--nodes, --gpus-per-node",
                fmt::format("expected 1 to {} cards to search, found {} × {}", kMostCards,
                            FormatCount(request_.nodes), FormatCount(out_.cards_per_node)),
                "search fewer nodes");
  }

  // Every thread has an evaluator of its own; results stand in the order of the layouts.
  std::vector<Trial> TryAll() const {
    std::vector<Trial> trials(layouts_.size());
    std::atomic<size_t> next = 0;
    std::exception_ptr failure;
    std::mutex mutex;
    const auto work = [&](size_t) {
      try {
        FigureEvaluator evaluator(model_, catalog_, store_);
        for (size_t i; (i = next.fetch_add(1)) < trials.size();) {
          trials[i] = TryLayout(evaluator, model_.arch, *layouts_[i].first, layouts_[i].second,
                                may_narrow_);
        }
      } catch (...) {
        const std::lock_guard<std::mutex> lock(mutex);
        failure = std::current_exception();
      }
    };
    RunJobs(request_.threads, static_cast<size_t>(std::max(request_.threads, 1)), work);
    if (failure) std::rethrow_exception(failure);
    return trials;
  }

  void Take(const SearchVariant& variant, const Trial& trial) {
    out_.evaluated += trial.evaluated;
    if (trial.score) {
      found_.push_back(
          {&variant, trial.deployment, trial.chosen, *trial.score, trial.narrowed, trial.doubtful});
      return;
    }
    Reason& reason = reasons_[trial.reason_id];
    const std::optional<Bytes>& miss = trial.pinned ? trial.pinned : trial.short_by;
    const bool nearer = miss && reason.short_by && *miss < *reason.short_by;
    if (miss) NoteMiss(trial, *miss);
    if (reason.count++ > 0 && !nearer) return;
    reason.example = trial.example;
    reason.short_by = miss;
    if (!miss) return;
    // What only the nodes' memory is too small for is nearer than what no card holds.
    const auto key = [](const Trial& t) {
      return std::pair(!t.pinned, t.pinned ? *t.pinned : *t.short_by);
    };
    if (nearest_ && key(*nearest_) <= key(trial)) return;
    nearest_ = trial;
  }

  // The nearest miss of each kind.
  void NoteMiss(const Trial& trial, Bytes by) {
    const auto [at, is_new] =
        misses_.try_emplace(KindOf(trial.deployment), std::pair(by, trial.example));
    if (!is_new && by < at->second.first) at->second = {by, trial.example};
  }

  // Better ones are less: the objectives in turn, then what one would rather run.
  auto KeyOf(const Found& found) const {
    const Score& s = found.score;
    std::vector<double> key = {
        static_cast<double>(!found.variant->given.offload && s.offload > Bytes()),
        static_cast<double>(found.narrowed), static_cast<double>(found.doubtful)};
    const auto add = [&](Objective objective) {
      switch (objective) {
        case Objective::kMaxConcurrency:
          return key.push_back(-s.concurrency);
        case Objective::kMaxWindow:
          return key.push_back(-static_cast<double>(s.window));
        case Objective::kMinGpus:
          return key.push_back(static_cast<double>(s.gpus));
        case Objective::kMinOffload:
          return key.push_back(static_cast<double>(s.OffloadGiB()));
        case Objective::kMinInternodeTraffic:
          return key.push_back(std::round(s.network_per_token.value_or(0)));
      }
    };
    for (const Objective objective : request_.objectives) add(objective);
    // Of layouts that put as much on the network, none at all say, the one that serves most.
    if (!request_.objectives.empty() &&
        request_.objectives.back() == Objective::kMinInternodeTraffic) {
      add(Objective::kMaxConcurrency);
    }
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
        Trial trial;
        trial.reason_id = "plan.disagrees";
        trial.example = NameOf(d, found.variant->settings) + ": " +
                        (plan ? "the whole plan does not fit" : plan.error().ToString());
        Take(*found.variant, trial);
        continue;
      }
      told[shape] = out_.candidates.size();
      out_.candidates.push_back(MakeCandidate(found, std::move(*plan)));
    }
  }

  static Candidate MakeCandidate(const Found& found, Plan plan) {
    return {found.variant->settings, found.variant->words, ChosenIn(found), found.deployment,
            std::move(plan),         found.score,          found.pareto,    found.narrowed};
  }

  // The first of the ranking that `has` takes, or the first whose tensor parallelism stays inside a
  // node, unless only that one needs an offload: nobody would set up the other one.
  template <typename Predicate>
  const Found* BestOf(const Predicate& has) const {
    const Found* best = nullptr;
    for (const Found& found : found_) {
      if (!has(found.deployment)) continue;
      const bool inside = found.deployment.sizes.tp <= out_.cards_per_node;
      if (best == nullptr) best = &found;
      if (!inside) continue;
      const bool as_cheap = found.score.offload == Bytes() || best->score.offload > Bytes();
      return as_cheap ? &found : best;
    }
    return best;
  }

  // Of every other kind the best, or how near the nearest came: what is not proposed is worth
  // knowing as well.
  void FindAlternatives() {
    if (out_.candidates.empty()) return;
    for (const LayoutKind kind : {LayoutKind::kTensor, LayoutKind::kStages, LayoutKind::kExperts,
                                  LayoutKind::kStagesOfExperts, LayoutKind::kReplicas}) {
      const auto has = [&](const Deployment& d) { return KindOf(d) == kind; };
      if (std::any_of(out_.candidates.begin(), out_.candidates.end(),
                      [&](const Candidate& c) { return has(c.deployment); })) {
        continue;
      }
      Alternative other;
      other.kind = kind;
      const Found* const found = BestOf(has);
      if (found != nullptr) {
        Result<Plan> plan = EvaluatePlan(model_, catalog_, store_, found->deployment);
        if (plan && plan->verdict == Verdict::kFits) {
          other.candidate = MakeCandidate(*found, std::move(*plan));
        }
      }
      if (!other.candidate) {
        const auto miss = misses_.find(kind);
        if (miss == misses_.end()) continue;  // there are none, or none that starts
        other.miss = miss->second.second;
      }
      out_.instead.push_back(std::move(other));
    }
  }

  void TellToday() {
    if (!request_.today) return;
    const Deployment& d = *request_.today;
    Result<Plan> plan = EvaluatePlan(model_, catalog_, store_, d);
    if (!plan) return;  // what no engine takes is no comparison
    const Score score = plan->verdict == Verdict::kIllegal ? Score() : ScoreOf(*plan, d);
    out_.today = Candidate{{}, {}, {}, d, std::move(*plan), score};
  }

  static std::vector<OptionValue> ChosenIn(const Found& found) {
    const EngineSettings& now = found.deployment.settings;
    const EngineSettings& asked = found.variant->base.settings;
    std::vector<OptionValue> chosen = found.economies;
    if (now.cpu_offload_gb == asked.cpu_offload_gb) return chosen;
    chosen.emplace_back("cpu-offload-gb", fmt::format("{:.0f}", now.cpu_offload_gb));
    if (now.cpu_offload_params != asked.cpu_offload_params) {
      chosen.emplace_back("cpu-offload-params",
                          fmt::format("{}", fmt::join(now.cpu_offload_params, ",")));
    }
    return chosen;
  }

  void TellNearest() {
    Result<Plan> plan = EvaluatePlan(model_, catalog_, store_, nearest_->deployment);
    if (!plan) return;
    for (Finding& finding : plan->findings) {
      if (finding.severity != Severity::kNote) out_.nearest.push_back(std::move(finding));
    }
  }

  void CountRejections() {
    for (auto& [id, reason] : reasons_) {
      if (reason.short_by && reason.count > 1) reason.example += ", the nearest miss";
      out_.rejected.push_back({id, reason.count, std::move(reason.example)});
    }
    std::stable_sort(out_.rejected.begin(), out_.rejected.end(),
                     [](const Rejection& a, const Rejection& b) { return a.count > b.count; });
  }

  const Model& model_;
  const Catalog& catalog_;
  const ConfigStore& store_;
  const SearchRequest& request_;
  SearchResult out_;
  std::vector<std::pair<const SearchVariant*, Deployment>> layouts_;
  std::vector<Found> found_;
  std::map<std::string, Reason> reasons_;
  std::map<LayoutKind, std::pair<Bytes, std::string>> misses_;
  bool may_narrow_ = false;
  std::optional<Trial> nearest_;
};

constexpr std::array<std::string_view, 5> kObjectives = {
    "max-concurrency", "max-window", "min-gpus", "min-offload", "min-internode-traffic"};

constexpr std::array<std::string_view, 5> kKinds = {
    "tensor parallelism alone", "pipeline stages", "experts over engines",
    "pipeline stages with experts over engines", "replicas"};

}  // namespace

std::string_view ToString(LayoutKind kind) { return kKinds[static_cast<size_t>(kind)]; }

LayoutKind KindOf(const Deployment& d) {
  const bool sglang = d.engine == "sglang";
  const bool experts = sglang ? d.sglang.ep_size > 1 : d.sizes.expert_parallel && d.sizes.dp > 1;
  if (d.sizes.pp > 1) return experts ? LayoutKind::kStagesOfExperts : LayoutKind::kStages;
  if (experts) return LayoutKind::kExperts;
  const bool inside = sglang && d.sglang.enable_dp_attention;
  return d.sizes.dp > 1 && !inside ? LayoutKind::kReplicas : LayoutKind::kTensor;
}

int64_t Score::OffloadGiB() const { return (offload.count() + kGiB / 2) / kGiB; }

bool Score::Dominates(const Score& other) const {
  const int64_t ours = OffloadGiB();
  const int64_t theirs = other.OffloadGiB();
  // Where the search does not go by it, it is the same for all.
  const double traffic = network_per_token.value_or(0);
  const double their_traffic = other.network_per_token.value_or(0);
  const bool as_good = concurrency >= other.concurrency && window >= other.window &&
                       gpus <= other.gpus && ours <= theirs && traffic <= their_traffic;
  return as_good && (concurrency > other.concurrency || window > other.window ||
                     gpus < other.gpus || ours < theirs || traffic < their_traffic);
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
                                             Objective::kMinGpus, Objective::kMinOffload,
                                             Objective::kMinInternodeTraffic};
  return all;
}

Result<SearchResult> SearchLayouts(const Model& model, const Catalog& catalog,
                                   const ConfigStore& store, const SearchRequest& request) {
  return Searcher(model, catalog, store, request).Run();
}

}  // namespace shardplan
