#include "plan/host_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/cluster_world.h"

namespace shardplan {
namespace {

using testing::HasSubstr;
using testing_support::Cluster;
using testing_support::Evaluate;
using testing_support::ExampleFromConfig;
using testing_support::FindFinding;
using testing_support::Port;
using testing_support::PublishedKimiK3;
using testing_support::Server;
using testing_support::Told;

// 448 GiB pinned on each node, 224 on each NUMA node.
Plan K3On(NodeKind kind, bool bound = true) {
  Deployment d = PublishedKimiK3();
  d.gpu.clear();
  d.nodes.reset();
  d.settings.numa_bind = bound;
  d.cluster = Cluster({std::move(kind)});
  return Evaluate(ExampleFromConfig("kimi-k3"), d);
}

NodeKind TwoServers() { return Server("h20-96", 8, 2); }

const Finding& Expect(const Plan& plan, const std::string& id, Severity severity) {
  const Finding* const finding = FindFinding(plan, id);
  EXPECT_NE(finding, nullptr) << id;
  static const Finding none;
  if (finding == nullptr) return none;
  EXPECT_EQ(finding->severity, severity);
  return *finding;
}

TEST(HostMemoryTest, RowsOfANode) {
  NodeKind kind = TwoServers();
  kind.memory = Told(Bytes(1024 * kGiB));
  kind.container_limit = Told(Bytes(900 * kGiB));
  const Plan plan = K3On(kind);
  EXPECT_EQ(plan.verdict, Verdict::kFits);
  ASSERT_EQ(plan.host.size(), 2u);
  const HostPlan& host = plan.host[1];
  ASSERT_EQ(host.rows.size(), 3u);
  EXPECT_EQ(host.rows[0].name, "pinned_weights");
  EXPECT_EQ(host.rows[0].bytes.central, Bytes(448 * kGiB));
  EXPECT_EQ(host.rows[0].basis, Basis::kDerived);
  EXPECT_EQ(host.rows[1].name, "workers");
  EXPECT_EQ(host.rows[1].basis, Basis::kAssumed);
  EXPECT_LT(host.rows[1].bytes.low, host.rows[1].bytes.high);
  EXPECT_EQ(host.rows[2].name, "shared_memory");
  EXPECT_EQ(host.memory->bytes.central, Bytes(1024 * kGiB));
  EXPECT_EQ(host.container_limit->basis, Basis::kMeasured);
  for (const Finding& finding : plan.findings) {
    EXPECT_FALSE(finding.id.starts_with("host.")) << finding.id << ": " << finding.message;
  }
}

TEST(HostMemoryTest, ANumaNodeThatCantHoldItsShare) {
  NodeKind kind = TwoServers();
  kind.numa[0].memory = Told(Bytes(512 * kGiB));
  kind.numa[1].memory = Told(Bytes(200 * kGiB));
  const Plan bound = K3On(kind);
  EXPECT_EQ(bound.verdict, Verdict::kDoesNotFit);
  EXPECT_EQ(bound.verdict_low, Verdict::kDoesNotFit);
  EXPECT_FALSE(bound.limiting);
  const Finding& error = Expect(bound, "host.numa_memory", Severity::kError);
  EXPECT_EQ(error.subject, "node 0 and node 1, NUMA node 1");
  EXPECT_THAT(error.message, HasSubstr("224.0 GiB of pinned weights on a NUMA node of 200.0 GiB: "
                                       "24.0 GiB too much"));
  EXPECT_EQ(bound.host[0].per_numa[1].memory, Bytes(200 * kGiB));
  const Plan loose = K3On(kind, false);
  EXPECT_EQ(loose.verdict, Verdict::kFits);
  Expect(loose, "host.numa_memory", Severity::kWarning);
  // Pinned weights fit, four processes of 2 GiB beside them do not.
  kind.numa[1].memory = Told(Bytes(230 * kGiB));
  const Plan tight = K3On(kind);
  EXPECT_EQ(tight.verdict, Verdict::kFits);
  EXPECT_THAT(Expect(tight, "host.numa_memory", Severity::kWarning).message,
              HasSubstr("224.0 GiB pinned and about 8.0 GiB of 4 processes are more than the 230.0 "
                        "GiB of a NUMA node"));
  EXPECT_EQ(FindFinding(K3On(kind, false), "host.numa_memory"), nullptr);
  kind.numa[1].memory = Told(Bytes(232 * kGiB));
  EXPECT_EQ(FindFinding(K3On(kind), "host.numa_memory"), nullptr);
}

TEST(HostMemoryTest, ANodeThatCantHoldIt) {
  NodeKind kind = TwoServers();
  kind.memory = Told(Bytes(447 * kGiB));
  const Plan plan = K3On(kind, false);
  EXPECT_EQ(plan.verdict, Verdict::kDoesNotFit);
  EXPECT_THAT(
      Expect(plan, "host.node_memory", Severity::kError).message,
      HasSubstr("448.0 GiB are pinned on a node with 447.0 GiB of memory: 1.0 GiB too much"));
  kind.memory = Told(Bytes(450 * kGiB));
  const Plan tight = K3On(kind, false);
  EXPECT_EQ(tight.verdict, Verdict::kFits);
  Expect(tight, "host.node_memory", Severity::kWarning);
  kind.memory = Told(Bytes(600 * kGiB));
  EXPECT_EQ(FindFinding(K3On(kind, false), "host.node_memory"), nullptr);
}

TEST(HostMemoryTest, EveryShortNodeIsNamed) {
  NodeKind kind = TwoServers();
  kind.hosts = {"a", "b"};
  kind.memory = Told(Bytes(447 * kGiB));
  EXPECT_EQ(Expect(K3On(kind, false), "host.node_memory", Severity::kError).subject, "a and b");
  Plan plan;
  plan.host.resize(6);
  for (size_t i = 0; i < 6; ++i) plan.host[i].node = static_cast<int64_t>(i);
  kind = Server("h20-96", 8, 6);
  kind.shm = Told(Bytes(64 * kMiB));
  const auto cluster = Cluster({kind});
  HostRequest request;
  request.cluster = cluster.get();
  request.ranks_per_node = 8;
  CheckHostMemory(request, &plan);
  EXPECT_EQ(Expect(plan, "host.shm", Severity::kWarning).subject,
            "node 0, node 1, node 2 and 3 more, /dev/shm");
}

TEST(HostMemoryTest, AContainersLimitCountsPinnedPages) {
  NodeKind kind = TwoServers();
  kind.memory = Told(Bytes(2048 * kGiB));
  kind.container_limit = Told(Bytes(256 * kGiB));
  const Plan plan = K3On(kind);
  EXPECT_EQ(plan.verdict, Verdict::kDoesNotFit);
  Expect(plan, "host.container_memory", Severity::kError);
  EXPECT_EQ(FindFinding(plan, "host.node_memory"), nullptr);
}

TEST(HostMemoryTest, SharedMemory) {
  NodeKind kind = TwoServers();
  kind.shm = Told(Bytes(64 * kMiB));
  EXPECT_THAT(Expect(K3On(kind), "host.shm", Severity::kWarning).message,
              HasSubstr("64 MiB of shared memory for 8 ranks"));
  kind.shm = Told(Bytes(kGiB));
  EXPECT_EQ(FindFinding(K3On(kind), "host.shm"), nullptr);
}

TEST(HostMemoryTest, LockedMemory) {
  NodeKind kind = TwoServers();
  kind.memlock = Told(Bytes(64 * kMiB));
  kind.nics = {Port(400, NicProtocol::kRoce, 0)};
  EXPECT_THAT(Expect(K3On(kind), "host.memlock", Severity::kWarning).message,
              HasSubstr("buffers that RDMA ports register count against it"));
  kind.nics.clear();
  EXPECT_THAT(Expect(K3On(kind), "host.memlock", Severity::kWarning).message,
              HasSubstr("448.0 GiB are pinned: CUDA's own pinning was not counted"));
  kind.memlock.reset();
  EXPECT_EQ(FindFinding(K3On(kind), "host.memlock"), nullptr);
}

TEST(HostMemoryTest, WithoutFactsTheNeedIsTold) {
  const Plan plan = Evaluate(ExampleFromConfig("kimi-k3"), PublishedKimiK3());
  EXPECT_THAT(Expect(plan, "host.needs", Severity::kNote).message,
              HasSubstr("a node needs 448.0 GiB that stay pinned, 224.0 GiB on NUMA node 0"));
  EXPECT_FALSE(plan.host[0].memory);
  Deployment nothing;
  nothing.gpu = "h200-141";
  nothing.sizes.tp = 8;
  nothing.settings.max_model_len = 4096;
  EXPECT_EQ(FindFinding(Evaluate(ExampleFromConfig("deepseek-v3"), nothing), "host.needs"),
            nullptr);
}

TEST(HostMemoryTest, TheSecondCacheOfSglang) {
  Deployment d;
  d.engine = "sglang";
  d.sizes.tp = 8;
  d.sglang.enable_hierarchical_cache = true;
  d.sglang.hicache_size = 100;
  NodeKind kind = Server("h200-141", 8);
  kind.memory = Told(Bytes(2048 * kGiB));
  d.cluster = Cluster({kind});
  const Model& model = ExampleFromConfig("deepseek-v3");
  const Plan roomy = Evaluate(model, d);
  ASSERT_EQ(roomy.host.size(), 1u);
  ASSERT_FALSE(roomy.host[0].rows.empty());
  EXPECT_EQ(roomy.host[0].rows[0].name, "kv_tier");
  EXPECT_EQ(roomy.host[0].rows[0].bytes.central, roomy.static_memory->host_cache->per_rank * 8);
  EXPECT_EQ(FindFinding(roomy, "host.kv_tier"), nullptr);
  kind.memory = Told(Bytes(750 * kGiB));
  d.cluster = Cluster({kind});
  const Plan tight = Evaluate(model, d);
  EXPECT_EQ(tight.verdict, Verdict::kDoesNotFit);
  EXPECT_THAT(Expect(tight, "host.kv_tier", Severity::kError).message,
              HasSubstr("SGLang refuses more than their share of what is free less 10 GiB"));
  // Half of the cache on each NUMA node.
  kind.memory = Told(Bytes(2048 * kGiB));
  kind.numa[0].memory = Told(Bytes(1948 * kGiB));
  kind.numa[1].memory = Told(Bytes(100 * kGiB));
  d.cluster = Cluster({kind});
  const Plan uneven = Evaluate(model, d);
  const Finding& numa = Expect(uneven, "host.numa_memory", Severity::kWarning);
  EXPECT_EQ(numa.subject, "node 0, NUMA node 1");
  EXPECT_THAT(numa.message, HasSubstr("of pinned memory on a NUMA node of 100.0 GiB"));
}

TEST(HostMemoryTest, PageCacheThatDoesNotStay) {
  Plan plan;
  plan.host.resize(1);
  FilesPlan files;
  files.bytes = Bytes(700 * kGiB);
  plan.files.push_back(files);
  NodeKind kind = Server("h20-96", 8);
  kind.memory = Told(Bytes(512 * kGiB));
  const auto cluster = Cluster({kind});
  HostRequest request;
  request.cluster = cluster.get();
  CheckHostMemory(request, &plan);
  ASSERT_EQ(plan.host[0].rows.size(), 3u);
  EXPECT_EQ(plan.host[0].rows[2].name, "page_cache");
  EXPECT_TRUE(plan.host[0].rows[2].reclaimable);
  EXPECT_THAT(Expect(plan, "host.page_cache", Severity::kNote).message,
              HasSubstr("700.0 GiB of shard files do not stay in the 512.0 GiB"));
  Plan small;
  small.host.resize(1);
  files.bytes = Bytes(100 * kGiB);
  small.files.push_back(files);
  CheckHostMemory(request, &small);
  EXPECT_EQ(FindFinding(small, "host.page_cache"), nullptr);
}

}  // namespace
}  // namespace shardplan
