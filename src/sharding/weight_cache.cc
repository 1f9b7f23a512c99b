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

std::shared_ptr<const DeviceWeights> WeightsFrom(WeightCache* cache, const Architecture& arch,
                                                 const TensorTable& table, int variant,
                                                 const ShardingRules& rules) {
  if (cache != nullptr) return cache->Get(arch, table, variant, rules);
  return std::make_shared<const DeviceWeights>(ComputeDeviceWeights(arch, table, rules));
}

}  // namespace shardplan
