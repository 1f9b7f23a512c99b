#include "launch/kubernetes/budget.h"

#include <gtest/gtest.h>

#include "launch/kubernetes/kubernetes_world.h"

namespace shardplan::kubernetes {
namespace {

using testing_support::KubernetesWorld;
using testing_support::VllmWorld;

TEST(KubernetesBudgetTest, MemoryIsTheSumOfItsTerms) {
  KubernetesWorld world = VllmWorld(2);
  world.model.inventory.shards.front().file_bytes = Bytes(16 * kGiB);
  const HostBudget budget = MakeHostBudget(world.input(), world.options, 2);
  // 64 pinned, 32 of /dev/shm, 2 × 8 of workers, 16 of the server, 2 × 16 of files, a tenth.
  EXPECT_EQ(budget.total, Bytes(176 * kGiB));
  EXPECT_EQ(Describe(budget),
            "Memory of the container, page cache counted:\n"
            "      64.0 GiB  offloaded weights, pinned, as the allocator takes them\n"
            "      32.0 GiB  /dev/shm when it is full (assumed)\n"
            "      16.0 GiB  worker processes, 2 × 8 GiB (assumed)\n"
            "      16.0 GiB  API server and scheduler (assumed)\n"
            "      32.0 GiB  page cache while loading, two shard files\n"
            "      16.0 GiB  margin, a tenth (assumed)\n");
}

TEST(KubernetesBudgetTest, TheNodeThatNeedsMostDecides) {
  KubernetesWorld world = VllmWorld(2);
  const Bytes before = MakeHostBudget(world.input(), world.options, 2).total;
  world.plan.host[1].pinned_allocated = Bytes(164 * kGiB);
  EXPECT_EQ(MakeHostBudget(world.input(), world.options, 2).total - before, Bytes(110 * kGiB));
  world.plan.files[1].bytes = Bytes(300 * kGiB);
  EXPECT_EQ(EstimateStartup(world.input(), world.options).slowest.bytes, Bytes(300 * kGiB));
}

TEST(KubernetesBudgetTest, HostCachesAndUnknownShardsCount) {
  KubernetesWorld world = VllmWorld(1);
  world.plan.engine = "sglang";
  world.model.inventory.shards.clear();
  world.plan.static_memory.emplace();
  world.plan.static_memory->host_cache = HostCachePlan{Bytes(), 0, Bytes(100 * kGiB)};
  const std::string told = Describe(MakeHostBudget(world.input(), world.options, 8));
  EXPECT_NE(told.find("100.0 GiB  second cache in host memory\n"), std::string::npos) << told;
  EXPECT_NE(told.find("32.0 GiB  /dev/shm"), std::string::npos) << told;
  EXPECT_NE(told.find("32.0 GiB  page cache while loading, two shard files (assumed)"),
            std::string::npos)
      << told;
}

TEST(KubernetesBudgetTest, WhatIsGivenCounts) {
  KubernetesWorld world = VllmWorld(1);
  world.options.memory = Bytes(100 * kGiB);
  world.options.shm_size = Bytes(kGiB);
  const HostBudget budget = MakeHostBudget(world.input(), world.options, 2);
  EXPECT_EQ(budget.total, Bytes(100 * kGiB));
  EXPECT_TRUE(Describe(budget).starts_with("Memory as given."));
  EXPECT_NE(Describe(budget).find("1.0 GiB  /dev/shm when it is full\n"), std::string::npos);
}

TEST(KubernetesBudgetTest, StartingTakesTwiceTheReading) {
  KubernetesWorld world = VllmWorld(2);
  StartupEstimate startup = EstimateStartup(world.input(), world.options);
  EXPECT_EQ(startup.slowest.load_seconds, 108);
  EXPECT_EQ(startup.seconds, 840);
  EXPECT_EQ(Describe(startup),
            "A node reads 100.0 GiB\nat 1 GB/s (assumed):\n108 s at least.\n"
            "The engine may take 840 s to start: twice that, and 600 s to compile\n"
            "and warm up (assumed).\n");
  world.options.read_rate = Bytes(3 * kGiB);
  startup = EstimateStartup(world.input(), world.options);
  EXPECT_EQ(startup.slowest.load_seconds, 34);
  EXPECT_NE(Describe(startup).find("at 3.221 GB/s (given)"), std::string::npos);
  world.options.startup_seconds = 1200;
  startup = EstimateStartup(world.input(), world.options);
  EXPECT_EQ(startup.seconds, 1200);
  EXPECT_NE(Describe(startup).find("1,200 s to start, as given"), std::string::npos);
}

TEST(KubernetesBudgetTest, WithoutHeadersTheWeightsAreRead) {
  KubernetesWorld world = VllmWorld(2);
  world.plan.files.clear();
  for (RankPlan& rank : world.plan.ranks) rank.weights = Bytes(30 * kGiB);
  world.plan.ranks.back().offloaded = Bytes(10 * kGiB);
  EXPECT_EQ(EstimateStartup(world.input(), world.options).slowest.bytes, Bytes(70 * kGiB));
}

TEST(KubernetesBudgetTest, TheSlowestNodeCounts) {
  KubernetesWorld world = VllmWorld(2);
  LoadingPlan loading;
  for (const int64_t node : {0, 1}) {
    NodeLoading one;
    one.node = node;
    one.tensors = Bytes((node + 1) * 100 * kGiB);
    one.disk = {10, 5, 40.0 * static_cast<double>(node + 1)};
    loading.nodes.push_back(one);
  }
  loading.rates.disk = {6, 2, 24, Basis::kAssumed, ""};
  loading.rates.shared_fs = {10, 1, 50, Basis::kAssumed, ""};
  loading.shared_fs = {15, 10, 60};
  world.plan.loading = loading;
  const StartupEstimate startup = EstimateStartup(world.input(), world.options);
  EXPECT_EQ(startup.slowest.bytes, Bytes(200 * kGiB));
  EXPECT_EQ(startup.slowest.load_seconds, 80);
  EXPECT_EQ(startup.slowest.source, "from its disks at 2 GB/s");
}

}  // namespace
}  // namespace shardplan::kubernetes
