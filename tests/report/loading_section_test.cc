#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/example_plan.h"
#include "report/plan_document.h"
#include "report/sections.h"

namespace shardplan {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing_support::ExamplePlan;
using testing_support::GiB;

Plan WithLoading() {
  Plan plan = ExamplePlan();
  LoadingPlan loading;
  loading.rates.disk = {6, 2, 24, Basis::kAssumed, "one drive"};
  loading.rates.shared_fs = {10, 10, 10, Basis::kDerived, "as given"};
  loading.rates.pcie = LinkRate{63, 63, 63, Basis::kExact, "data sheet"};
  for (int64_t n = 0; n < 2; ++n) {
    NodeLoading node;
    node.node = n;
    node.ranks = 2;
    node.tensors = GiB(12);
    node.needed = GiB(13);
    node.opened = GiB(28);
    node.saved = GiB(15);
    node.needed_files = 2;
    node.opened_files = 4;
    node.shared_files = 2;
    node.disk = {127, 32, 382};
    node.all_from_disk = ReadTime{300, 75, 900};
    loading.nodes.push_back(node);
  }
  loading.from_shared_fs = GiB(24);
  loading.shared_fs = {2.5, 2.5, 2.5};
  loading.to_card = GiB(8);
  loading.pcie_seconds = 0.136;
  loading.staging = GiB(4);
  loading.staging_reason = "the largest file";
  plan.loading = loading;
  return plan;
}

TEST(LoadingSection, NodesThatAreAlikeAreToldOnce) {
  const std::string text = LoadingSection(WithLoading(), 200);
  EXPECT_THAT(text,
              HasSubstr("Loading, at least\n  nodes 0, 1: 12.0 GiB of tensors, 2 min 7 s (32 s "
                        "to 6 min 22 s) from disk; 2 of 4 files hold them, 2 read by "
                        "several ranks (page cache serves all but the first)"));
  EXPECT_THAT(LoadingSection(WithLoading(), 1000),
              HasSubstr("; without a stage index every rank opens all 4 of 28.0 GiB, 5 min 0 s: an "
                        "index of its stages saves 15.0 GiB\n"));
  EXPECT_THAT(text,
              HasSubstr("from a shared filesystem (10 GB/s), all nodes: 2.5 s; to a card over "
                        "PCIe: 136 ms\n"));
  EXPECT_THAT(text, HasSubstr("disk: 6 GB/s, assumed; staging: 4.00 GiB, the largest file\n"));
}

TEST(LoadingSection, NodesThatDifferEachHaveALine) {
  Plan plan = WithLoading();
  plan.loading->nodes[1].tensors = GiB(11);
  EXPECT_THAT(LoadingSection(plan, 200), HasSubstr("\n  node 1: 11.0 GiB"));
}

TEST(LoadingSection, WithoutFilesTensorsAlone) {
  Plan plan = WithLoading();
  for (NodeLoading& node : plan.loading->nodes) {
    node.needed = node.opened = node.saved = std::nullopt;
    node.all_from_disk.reset();
  }
  plan.loading->staging = Bytes();
  const std::string text = LoadingSection(plan, 200);
  EXPECT_THAT(text, Not(HasSubstr("hold them")));
  EXPECT_THAT(text, Not(HasSubstr("staging")));
  const Document d = PlanDocument(plan)["loading"];
  EXPECT_TRUE(d["nodes"][0]["needed_files"].is_null());
  EXPECT_EQ(LoadingSection(ExamplePlan(), 100), "");
}

TEST(LoadingSection, Document) {
  const Document d = PlanDocument(WithLoading())["loading"];
  EXPECT_EQ(d["nodes"].size(), 2u);
  EXPECT_EQ(d["nodes"][1]["tensor_bytes"], GiB(12).count());
  EXPECT_EQ(d["nodes"][1]["saved_bytes"], GiB(15).count());
  EXPECT_EQ(d["nodes"][1]["disk"]["slowest_seconds"], 382);
  EXPECT_EQ(d["staging"]["on_card"], false);
  EXPECT_EQ(d["pcie_seconds"], 0.136);
  EXPECT_EQ(d["rates"]["disk"]["basis"], "assumed");
  EXPECT_TRUE(PlanDocument(ExamplePlan())["loading"].is_null());
}

}  // namespace
}  // namespace shardplan
