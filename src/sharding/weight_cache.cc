#include "sharding/weight_cache.h"

namespace shardplan {
namespace {

// Some thousand layouts of a model with half a million tensors take tens of megabytes.
constexpr size_t kMost = 4096;

}  // namespace

std::shared_ptr<const DeviceWeights> WeightCache::Get(const Architecture& arch,
                                                      const TensorTable& table, int variant,
                                                      const ShardingRules& rules) {
  if (known_.size() >= kMost) known_.clear();
  auto& weights = known_[{variant, rules}];
  if (!weights) {
    weights = std::make_shared<const DeviceWeights>(ComputeDeviceWeights(arch, table, rules));
  }
  return weights;
}

const std::vector<Indivisible>& WeightCache::Problems(const Architecture& arch,
                                                      const TensorTable& table,
                                                      const ShardingRules& rules) {
  if (problems_.size() >= kMost) problems_.clear();
  const auto at = problems_.find(rules);
  if (at != problems_.end()) return at->second;
  return problems_.emplace(rules, CheckSharding(arch, table, rules)).first->second;
}

std::shared_ptr<const DeviceWeights> WeightsFrom(WeightCache* cache, const Architecture& arch,
                                                 const TensorTable& table, int variant,
                                                 const ShardingRules& rules) {
  if (cache != nullptr) return cache->Get(arch, table, variant, rules);
  return std::make_shared<const DeviceWeights>(ComputeDeviceWeights(arch, table, rules));
}

std::vector<Indivisible> ProblemsFrom(WeightCache* cache, const Architecture& arch,
                                      const TensorTable& table, const ShardingRules& rules) {
  if (cache != nullptr) return cache->Problems(arch, table, rules);
  return CheckSharding(arch, table, rules);
}

}  // namespace shardplan
