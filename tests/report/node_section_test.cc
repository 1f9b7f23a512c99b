#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/example_plan.h"
#include "report/sections.h"

namespace shardplan {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing_support::ExamplePlan;

TEST(HostSectionTest, PayloadAndWhatIsReallyTaken) {
  EXPECT_EQ(
      HostSection(ExamplePlan(), 100),
      "Host memory, pinned\n"
      "                    offloaded  really taken\n"
      "  nodes 0, 1, each  2.000 GiB     3.000 GiB\n"
      "    NUMA node 0     1.000 GiB     1.500 GiB\n"
      "    NUMA node 1     1.000 GiB     1.500 GiB\n"
      "  The pinned allocator rounds each tensor up to a power of two: a node needs the larger "
      "number.\n");
}

TEST(HostSectionTest, UnequalNodesStandApart) {
  Plan plan = ExamplePlan();
  plan.host[1].pinned = Bytes(kGiB);
  plan.host[1].per_numa.clear();
  EXPECT_THAT(HostSection(plan, 100), HasSubstr("  node 1         1.000 GiB     3.000 GiB\n"));
  for (HostPlan& host : plan.host) host.pinned = Bytes();
  EXPECT_EQ(HostSection(plan, 100), "");
}

TEST(HostSectionTest, MemoryThatAClusterTells) {
  Plan plan = ExamplePlan();
  for (HostPlan& host : plan.host) {
    host.per_numa[0].memory = Bytes(512 * kGiB);
    host.memory = {Range(Bytes(1024 * kGiB)), Basis::kMeasured, "meminfo"};
    host.container_limit = {Range(Bytes(10 * kGiB)), Basis::kAssumed, "c.yaml:3"};
    host.rows = {{"pinned_weights", Range(Bytes(3 * kGiB)), Basis::kDerived, "", false},
                 {"workers", Range(Bytes(4 * kGiB)), Basis::kAssumed, "", false},
                 {"page_cache", Range(Bytes(20 * kGiB)), Basis::kExact, "", true}};
  }
  EXPECT_EQ(HostSection(plan, 100),
            "Host memory, pinned\n"
            "                              offloaded  really taken\n"
            "  nodes 0, 1, each            2.000 GiB     3.000 GiB\n"
            "    NUMA node 0 of 512.0 GiB  1.000 GiB     1.500 GiB\n"
            "    NUMA node 1               1.000 GiB     1.500 GiB\n"
            "  The pinned allocator rounds each tensor up to a power of two: a node needs the "
            "larger number.\n"
            "\n"
            "Host memory of each node\n"
            "  nodes 0, 1, each\n"
            "    pinned weights                     3.0 GiB  derived\n"
            "    workers                            4.0 GiB  assumed\n"
            "    page cache                        20.0 GiB  exact, reclaimable\n"
            "    left of the node's memory      1,017.0 GiB  of 1,024.0 GiB, measured\n"
            "    left of the container's limit      3.0 GiB  of 10.0 GiB, assumed\n");
  // Nothing is pinned: what the nodes have is told all the same.
  for (HostPlan& host : plan.host) host.pinned = Bytes();
  EXPECT_THAT(HostSection(plan, 100), ::testing::StartsWith("Host memory of each node\n"));
}

TEST(FilesSectionTest, FoldsNames) {
  EXPECT_EQ(FilesSection(ExamplePlan(), 100, false),
            "Shard files of each node\n"
            "  node 0: 20,000,000,000 B = 18.626 GiB\n"
            "    kept 3: model-{00001…00003}-of-00004.safetensors\n"
            "    needed 2: model-{00001, 00003}-of-00004.safetensors\n"
            "  node 1: 10,000,123,456 B = 9.313 GiB\n"
            "    kept 2: model-{00003, 00004}-of-00004.safetensors\n"
            "    needed 1: model-00004-of-00004.safetensors\n");
}

TEST(FilesSectionTest, NamesThatDoNotFold) {
  Plan plan = ExamplePlan();
  plan.files = {{0, {"a", "b", "c", "d", "e", "f"}, {"a"}, Bytes(1)}};
  EXPECT_THAT(FilesSection(plan, 100, false), HasSubstr("    kept 6: a, b, c, d and 2 more\n"));
  EXPECT_THAT(FilesSection(plan, 100, true), HasSubstr("    kept 6: a, b, c, d, e, f\n"));
  plan.files.clear();
  EXPECT_EQ(FilesSection(plan, 100, false), "");
}

TEST(FilesSectionTest, EqualNodesShareAnEntry) {
  Plan plan = ExamplePlan();
  plan.files[1] = plan.files[0];
  plan.files[1].node = 1;
  EXPECT_THAT(FilesSection(plan, 100, false), HasSubstr("  nodes 0, 1: 20,000,000,000 B"));
}

TEST(LaunchSectionTest, ACommandForEachNode) {
  EXPECT_EQ(LaunchSection(ExamplePlan(), false),
            "Launch on node 0\n"
            "VLLM_PP_LAYER_PARTITION=5,4 \\\n"
            "vllm serve '/models/Tiny MoE' \\\n"
            "  --node-rank 0 \\\n"
            "  --master-addr '<MASTER_ADDR>'\n"
            "\n"
            "Launch on node 1\n"
            "VLLM_PP_LAYER_PARTITION=5,4 \\\n"
            "vllm serve '/models/Tiny MoE' \\\n"
            "  --node-rank 1 \\\n"
            "  --master-addr '<MASTER_ADDR>'\n");
}

TEST(LaunchSectionTest, OneNodeNeedsNoNumber) {
  Plan plan = testing_support::ShortPlan();
  plan.launch.resize(1);
  EXPECT_THAT(LaunchSection(plan, false), HasSubstr("Launch (it does not fit as it is)\n"));
}

TEST(LaunchSectionTest, ManyNodesAreToldByTheFirst) {
  Plan plan = ExamplePlan();
  plan.launch[0].argv.push_back("--only-here");
  for (int64_t node = 2; node < 8; ++node) {
    plan.launch.push_back(plan.launch[1]);
    plan.launch.back().node = node;
    plan.launch.back().argv[4] = std::to_string(node);
  }
  const std::string text = LaunchSection(plan, false);
  EXPECT_THAT(text, HasSubstr("Launch on node 0\n"));
  EXPECT_THAT(text, HasSubstr("Launch on node 1\n"));
  EXPECT_THAT(text, HasSubstr("Launch on nodes 2–7: the same with --node-rank 2 to 7 (-v prints "
                              "them all)\n"));
  EXPECT_THAT(text, Not(HasSubstr("Launch on node 2\n")));
  EXPECT_THAT(LaunchSection(plan, true), HasSubstr("Launch on node 7\n"));
}

}  // namespace
}  // namespace shardplan
