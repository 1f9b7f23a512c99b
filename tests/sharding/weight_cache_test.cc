#include "sharding/weight_cache.h"

#include <gtest/gtest.h>

#include "support/example_model.h"

namespace shardplan {
namespace {

ShardingRules CacheRules(int64_t tp) {
  ShardingRules rules;
  rules.sizes.tp = tp;
  return rules;
}

TEST(WeightCache, ComputesOnceForTheSameRules) {
  const ModelSpec spec = testing_support::Build(testing_support::ExampleConfig("dense-70b"));
  WeightCache cache;
  const auto first = cache.Get(spec.arch, spec.table, 0, CacheRules(8));
  EXPECT_EQ(cache.Get(spec.arch, spec.table, 0, CacheRules(8)), first);
  EXPECT_NE(cache.Get(spec.arch, spec.table, 0, CacheRules(4)), first);
  EXPECT_NE(cache.Get(spec.arch, spec.table, 1, CacheRules(8)), first);
  ShardingRules other = CacheRules(8);
  other.part_tp.head = 1;
  EXPECT_NE(cache.Get(spec.arch, spec.table, 0, other), first);
  EXPECT_EQ(cache.size(), 4u);
  const DeviceWeights plain = ComputeDeviceWeights(spec.arch, spec.table, CacheRules(8));
  const StageRange all{0, spec.arch.layers()};
  EXPECT_EQ(first->StageBytes(all, true, true), plain.StageBytes(all, true, true));
  EXPECT_EQ(WeightsFrom(&cache, spec.arch, spec.table, 0, CacheRules(8)), first);
  EXPECT_NE(WeightsFrom(nullptr, spec.arch, spec.table, 0, CacheRules(8)), first);
}

TEST(WeightCache, ChecksOnceForTheSameRules) {
  const ModelSpec spec = testing_support::Build(testing_support::ExampleConfig("dense-70b"));
  WeightCache cache;
  EXPECT_TRUE(cache.Problems(spec.arch, spec.table, CacheRules(8)).empty());
  const std::vector<Indivisible>& first = cache.Problems(spec.arch, spec.table, CacheRules(7));
  ASSERT_FALSE(first.empty());
  EXPECT_EQ(&cache.Problems(spec.arch, spec.table, CacheRules(7)), &first);
  EXPECT_EQ(first.front().param, CheckSharding(spec.arch, spec.table, CacheRules(7)).front().param);
  EXPECT_EQ(ProblemsFrom(&cache, spec.arch, spec.table, CacheRules(7)).size(), first.size());
  EXPECT_EQ(ProblemsFrom(nullptr, spec.arch, spec.table, CacheRules(7)).size(), first.size());
}

}  // namespace
}  // namespace shardplan
