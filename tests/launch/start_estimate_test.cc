#include "launch/start_estimate.h"

#include <gtest/gtest.h>

#include "launch/launch_example.h"
#include "plan/host_memory.h"

namespace shardplan {
namespace {

TEST(StartEstimateTest, ReadsTheFilesOfTheNode) {
  Plan plan = testing_support::TwoNodes().plan;
  plan.files = {{0, {}, {}, Bytes(900'000'000'000)}, {1, {}, {}, Bytes(500'000'000'000)}};
  const StartEstimate start = EstimateStart(plan, 1);
  EXPECT_EQ(start.bytes, Bytes(500'000'000'000));
  EXPECT_EQ(start.seconds, 1140);  // 501 + 600, in whole minutes
  EXPECT_NE(start.rule.find("at 1 GB/s: 501 s"), std::string::npos) << start.rule;
}

TEST(StartEstimateTest, WithoutFilesTheWeightsCount) {
  Plan plan = testing_support::TwoNodes().plan;
  EXPECT_EQ(EstimateStart(plan, 0).bytes, Bytes(int64_t{80} << 30));
  plan.totals.payload = Bytes(1000);
  EXPECT_EQ(EstimateStart(plan, 0).bytes, Bytes(1000));
}

// What a limit leaves is above what is expected at most.
TEST(HostEstimateTest, LeavesMoreThanAWorkerTakes) {
  EXPECT_GT(Bytes(kHostBytesPerRank), WorkerMemory().high);
}

TEST(HostEstimateTest, AddsWhatANodeHolds) {
  Plan plan = testing_support::TwoNodes().plan;
  const int64_t gib = int64_t{1} << 30;
  const HostEstimate host = EstimateHostMemory(plan, 1, Bytes(32 * gib));
  EXPECT_EQ(host.bytes, Bytes((4 + 32 + 8 * 8 + 16) * gib));
  EXPECT_NE(host.rule.find("pinned 4.000 GiB"), std::string::npos) << host.rule;
  plan.static_memory.emplace();
  plan.static_memory->host_cache.emplace();
  plan.static_memory->host_cache->per_node = Bytes(100 * gib);
  EXPECT_EQ(EstimateHostMemory(plan, 1, Bytes(32 * gib)).bytes, host.bytes + Bytes(100 * gib));
}

}  // namespace
}  // namespace shardplan
