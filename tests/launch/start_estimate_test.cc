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
  EXPECT_EQ(start.load_seconds, 500);
  EXPECT_EQ(start.seconds, 1620);  // 2 × 500 + 600, in whole minutes
  EXPECT_EQ(start.rule,
            "node 1 reads 465.661 GiB at 1 GB/s (assumed): 500 s at least; twice that, and 600 s "
            "until it answers (assumed)");
}

// Two nodes of 200 and 100 GB; disks of 2 to 24 GB/s, a shared filesystem of 1 to 50.
Plan WithLoading() {
  Plan plan = testing_support::TwoNodes().plan;
  LoadingPlan loading;
  loading.rates.disk = {6, 2, 24, Basis::kAssumed, ""};
  loading.rates.shared_fs = {10, 1, 50, Basis::kAssumed, ""};
  for (const int64_t node : {0, 1}) {
    NodeLoading one;
    one.node = node;
    one.tensors = Bytes((2 - node) * 100'000'000'000);
    const auto gb = static_cast<double>(one.tensors.count()) / 1e9;
    one.disk = {gb / 6, gb / 24, gb / 2};
    loading.nodes.push_back(one);
  }
  loading.shared_fs = {30, 6, 300};
  plan.loading = loading;
  return plan;
}

TEST(StartEstimateTest, RestsOnThePlansEstimateOfLoading) {
  const StartEstimate start = EstimateStart(WithLoading(), 0);
  EXPECT_EQ(start.bytes, Bytes(200'000'000'000));
  EXPECT_EQ(start.load_seconds, 300);
  EXPECT_EQ(start.source, "from a filesystem that all nodes share at 1 GB/s together");
  EXPECT_TRUE(start.assumed);
  EXPECT_EQ(start.seconds, 1200);
}

TEST(StartEstimateTest, WhatIsGivenGoesBeforeWhatIsAssumed) {
  Plan plan = WithLoading();
  plan.loading->rates.disk = {4, 4, 4, Basis::kDerived, "as given"};
  plan.loading->nodes[0].disk = {50, 50, 50};
  StartEstimate start = EstimateStart(plan, 0);
  EXPECT_EQ(start.load_seconds, 50);
  EXPECT_EQ(start.source, "from its disks at 4 GB/s");
  EXPECT_FALSE(start.assumed);
  EXPECT_EQ(start.seconds, 720);  // 700 in whole minutes
  plan.loading->rates.shared_fs = {2, 2, 2, Basis::kDerived, "as given"};
  plan.loading->shared_fs = {150, 150, 150};
  EXPECT_EQ(EstimateStart(plan, 0).load_seconds, 150);
  start = EstimateStart(plan, 0, Bytes(10'000'000'000));
  EXPECT_EQ(start.load_seconds, 20);
  EXPECT_EQ(start.source, "at 10 GB/s");
  EXPECT_FALSE(start.assumed);
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
