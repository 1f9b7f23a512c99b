#include "plan/expert_balance.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <set>
#include <utility>

#include "shardplan/base/bytes.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

double Sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// The busiest of the ranks ÷ their mean.
double Imbalance(const std::vector<double>& ranks) {
  const double sum = Sum(ranks);
  if (sum <= 0) return 1;
  return *std::max_element(ranks.begin(), ranks.end()) * static_cast<double>(ranks.size()) / sum;
}

// A placement, layer by layer.
class Tally {
 public:
  explicit Tally(int64_t ranks) { placement_.shares.assign(static_cast<size_t>(ranks), 0); }

  // The imbalance of the layer.
  double Add(int64_t layer, const std::vector<double>& ranks) {
    const double factor = Imbalance(ranks);
    if (first_ || factor > placement_.worst) {
      placement_.worst = factor;
      placement_.worst_layer = layer;
    }
    first_ = false;
    for (size_t i = 0; i < ranks.size(); ++i) placement_.shares[i] += ranks[i];
    busiest_ += *std::max_element(ranks.begin(), ranks.end());
    return factor;
  }

  ExpertPlacement Take() {
    const double sum = Sum(placement_.shares);
    if (sum > 0) {
      placement_.step = busiest_ * static_cast<double>(placement_.shares.size()) / sum;
      for (double& share : placement_.shares) share /= sum;
    }
    return std::move(placement_);
  }

 private:
  ExpertPlacement placement_;
  double busiest_ = 0;
  bool first_ = true;
};

// The layers of a file by their numbers in the model, every expert with a load.
Result<std::vector<std::pair<int64_t, std::vector<double>>>> OnLayers(const Architecture& arch,
                                                                      const ExpertLoads& loads) {
  const auto refuse = [&](std::string message, std::string hint = "") {
    return Fail(ErrorCode::kInvalidInput, "--expert-load " + Printable(loads.file),
                std::move(message), std::move(hint));
  };
  std::vector<int64_t> mixtures;
  for (int64_t i = 0; i < arch.layers(); ++i) {
    if (arch.is_moe(i)) mixtures.push_back(i);
  }
  const bool numbered = !loads.layers.empty() && loads.layers[0].layer.has_value();
  if (!numbered && loads.layers.size() != mixtures.size()) {
    return refuse(fmt::format("expected {} layers, one for each mixture, found {}",
                              FormatCount(static_cast<int64_t>(mixtures.size())),
                              FormatCount(static_cast<int64_t>(loads.layers.size()))),
                  "number the layers to tell some of them");
  }
  std::vector<std::pair<int64_t, std::vector<double>>> out;
  std::set<int64_t> seen;
  for (size_t i = 0; i < loads.layers.size(); ++i) {
    const ExpertLoads::Layer& from = loads.layers[i];
    const int64_t layer = from.layer.value_or(numbered ? -1 : mixtures[i]);
    if (!std::binary_search(mixtures.begin(), mixtures.end(), layer)) {
      return refuse(fmt::format("layer {} is no mixture of experts of this model", layer),
                    mixtures.empty() ? "the model has none"
                                     : fmt::format("its mixtures lie between layers {} and {}",
                                                   mixtures.front(), mixtures.back()));
    }
    if (!seen.insert(layer).second) return refuse(fmt::format("layer {} stands twice", layer));
    if (static_cast<int64_t>(from.loads.size()) > arch.moe.experts) {
      return refuse(fmt::format("layer {}: expected at most {} experts, found {}", layer,
                                FormatCount(arch.moe.experts),
                                FormatCount(static_cast<int64_t>(from.loads.size()))));
    }
    std::vector<double> all = from.loads;
    all.resize(static_cast<size_t>(arch.moe.experts), 0);
    out.emplace_back(layer, std::move(all));
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return out;
}

}  // namespace

std::vector<double> LoadsInOrder(const std::vector<double>& loads, int64_t ranks) {
  const auto experts = static_cast<int64_t>(loads.size());
  std::vector<double> out(static_cast<size_t>(ranks), 0);
  size_t expert = 0;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    const int64_t here = experts / ranks + (rank < experts % ranks ? 1 : 0);
    for (int64_t i = 0; i < here; ++i) out[static_cast<size_t>(rank)] += loads[expert++];
  }
  return out;
}

std::vector<int64_t> Replicate(const std::vector<double>& loads, int64_t redundant) {
  std::vector<int64_t> counts(loads.size(), 1);
  // The most load a replica first; of equals the first expert.
  using Candidate = std::pair<double, int64_t>;  // load a replica, minus the expert
  std::priority_queue<Candidate> heaviest;
  for (size_t i = 0; i < loads.size(); ++i) heaviest.emplace(loads[i], -static_cast<int64_t>(i));
  for (int64_t given = 0; given < redundant && !heaviest.empty(); ++given) {
    const auto expert = static_cast<size_t>(-heaviest.top().second);
    heaviest.pop();
    ++counts[expert];
    heaviest.emplace(loads[expert] / static_cast<double>(counts[expert]),
                     -static_cast<int64_t>(expert));
  }
  return counts;
}

std::vector<double> LoadsBalanced(const std::vector<double>& loads, int64_t redundant,
                                  int64_t ranks) {
  const std::vector<int64_t> counts = Replicate(loads, redundant);
  std::vector<double> replicas;
  for (size_t i = 0; i < loads.size(); ++i) {
    replicas.insert(replicas.end(), static_cast<size_t>(counts[i]),
                    loads[i] / static_cast<double>(counts[i]));
  }
  std::stable_sort(replicas.begin(), replicas.end(), std::greater<>());
  const auto room = static_cast<int64_t>(replicas.size()) / ranks;
  std::vector<double> out(static_cast<size_t>(ranks), 0);
  std::vector<int64_t> held(static_cast<size_t>(ranks), 0);
  using Rank = std::pair<double, size_t>;
  std::priority_queue<Rank, std::vector<Rank>, std::greater<>> lightest;
  for (size_t i = 0; i < out.size(); ++i) lightest.emplace(0.0, i);
  for (const double load : replicas) {
    if (lightest.empty()) break;
    const size_t rank = lightest.top().second;
    lightest.pop();
    out[rank] += load;
    if (++held[rank] < room) lightest.emplace(out[rank], rank);
  }
  return out;
}

Result<ExpertLoadPlan> BalanceExperts(const Architecture& arch, const ExpertLoads& loads,
                                      int64_t ranks, int64_t redundant, bool balancing) {
  SHARDPLAN_ASSIGN_OR_RETURN(const auto layers, OnLayers(arch, loads));
  ExpertLoadPlan plan;
  plan.file = loads.file;
  plan.ranks = ranks;
  plan.redundant = redundant;
  plan.balancing = balancing;
  const bool divides = (arch.moe.experts + redundant) % ranks == 0;
  Tally before(ranks), after(ranks);
  for (const auto& [layer, of_experts] : layers) {
    ExpertLoadLayer told;
    told.layer = layer;
    told.before = before.Add(layer, LoadsInOrder(of_experts, ranks));
    if (divides) told.after = after.Add(layer, LoadsBalanced(of_experts, redundant, ranks));
    plan.layers.push_back(told);
    const auto hottest = std::max_element(of_experts.begin(), of_experts.end());
    const double sum = Sum(of_experts);
    if (sum <= 0 || *hottest / sum <= plan.hottest_share) continue;
    plan.hottest_share = *hottest / sum;
    plan.hottest_layer = layer;
    plan.hottest_expert = hottest - of_experts.begin();
  }
  plan.before = before.Take();
  if (divides) plan.after = after.Take();
  return plan;
}

}  // namespace shardplan
