#include "plan/classes.h"

#include <algorithm>
#include <set>

namespace shardplan {
namespace {

GuessedWeights EndsOf(const Prepared& p, const Model& model, ShardingRules rules) {
  GuessedWeights ends;
  rules.guess = GuessEnd::kFinest;
  ends.finest = ComputeDeviceWeights(model.arch, *p.table, rules);
  rules.guess = GuessEnd::kWhole;
  ends.whole = ComputeDeviceWeights(model.arch, *p.table, rules);
  return ends;
}

}  // namespace

std::vector<RankPlace> FirstOfEachClass(const Prepared& p, const std::vector<RankPlace>& places) {
  std::vector<RankPlace> first;
  std::set<ClassKey> seen;
  for (const RankPlace& place : places) {
    const ClassKey key(place.stage, vllm::RulesFor(p.context, place.ep_rank).local_experts);
    if (seen.insert(key).second) first.push_back(place);
  }
  return first;
}

Classes EvaluateClasses(const Prepared& p, const Model& model,
                        const std::vector<RankPlace>& places) {
  Classes classes;
  for (const RankPlace& place : places) {
    const ShardingRules rules = vllm::RulesFor(p.context, place.ep_rank);
    auto [it, is_new] = classes.weights.try_emplace(rules.local_experts);
    if (is_new) {
      it->second = vllm::WeightsOn(p.context, rules);
      if (model.guesses) classes.ends.emplace(rules.local_experts, EndsOf(p, model, rules));
    }
    const ClassKey key(place.stage, rules.local_experts);
    if (!classes.evaluations.contains(key)) {
      classes.evaluations.emplace(
          key, EvaluateStage(p, model, *it->second, place.stage, rules.local_experts,
                             model.guesses ? &classes.ends.at(rules.local_experts) : nullptr));
    }
  }
  return classes;
}

std::vector<Bytes> AvailableByStage(const Classes& classes, size_t stages, End end) {
  std::vector<Bytes> available(stages);
  std::vector<bool> seen(stages, false);
  for (const auto& [key, evaluation] : classes.evaluations) {
    const auto stage = static_cast<size_t>(key.first);
    const Range& kv = evaluation.kv_available;
    const Bytes bytes = end == End::kLow ? kv.high : end == End::kHigh ? kv.low : kv.central;
    available[stage] = seen[stage] ? std::min(available[stage], bytes) : bytes;
    seen[stage] = true;
  }
  return available;
}

const StageEvaluation& FullestOf(const Classes& classes, int64_t stage) {
  const StageEvaluation* fullest = nullptr;
  for (const auto& [key, evaluation] : classes.evaluations) {
    if (key.first != stage) continue;
    if (!fullest || evaluation.kv_available.central < fullest->kv_available.central) {
      fullest = &evaluation;
    }
  }
  return *fullest;
}

}  // namespace shardplan
