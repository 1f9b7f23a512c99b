// Weights of ranks that were computed before.
#ifndef SHARDPLAN_SHARDING_WEIGHT_CACHE_H_
#define SHARDPLAN_SHARDING_WEIGHT_CACHE_H_

#include <cstddef>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "shardplan/sharding/device_weights.h"

namespace shardplan {

// Of one architecture. Deployments of a search differ in windows and batches far more often than in
// what a rank holds. Not for several threads at once.
class WeightCache {
 public:
  // ComputeDeviceWeights, once for the same rules and variant: what else the table depends on, such
  // as the dtype it was made for.
  std::shared_ptr<const DeviceWeights> Get(const Architecture& arch, const TensorTable& table,
                                           int variant, const ShardingRules& rules);

  // CheckSharding, once for the same rules: dtypes do not matter to it.
  const std::vector<Indivisible>& Problems(const Architecture& arch, const TensorTable& table,
                                           const ShardingRules& rules);

  size_t size() const { return known_.size(); }

 private:
  std::map<std::pair<int, ShardingRules>, std::shared_ptr<const DeviceWeights>> known_;
  std::map<ShardingRules, std::vector<Indivisible>> problems_;
};

// From `cache` where there is one.
std::shared_ptr<const DeviceWeights> WeightsFrom(WeightCache* cache, const Architecture& arch,
                                                 const TensorTable& table, int variant,
                                                 const ShardingRules& rules);

std::vector<Indivisible> ProblemsFrom(WeightCache* cache, const Architecture& arch,
                                      const TensorTable& table, const ShardingRules& rules);

}  // namespace shardplan

#endif  // SHARDPLAN_SHARDING_WEIGHT_CACHE_H_
