#include "plan/placement_findings.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/cluster_world.h"

namespace shardplan {
namespace {

using testing_support::Evaluate;
using testing_support::ExampleFromConfig;
using testing_support::OnCluster;
using testing_support::Port;
using testing_support::Server;

std::vector<std::string> PlacementIds(const Plan& plan) {
  std::vector<std::string> ids;
  for (const Finding& finding : plan.findings) {
    if (!finding.id.starts_with("placement.")) continue;
    EXPECT_NE(finding.severity, Severity::kError);
    ids.push_back(finding.id);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

TEST(PlacementFindingsTest, TheSameIsSaidOnce) {
  std::vector<Finding> out;
  AddOnce({"a", Severity::kNote, "node 0", "text", ""}, &out);
  AddOnce({"a", Severity::kNote, "node 1", "text", ""}, &out);
  AddOnce({"a", Severity::kNote, "node 1", "another", ""}, &out);
  AddOnce({"b", Severity::kNote, "node 1", "text", ""}, &out);
  EXPECT_EQ(out.size(), 3U);
}

// Both halves speak, and neither changes what fits.
TEST(PlacementFindingsTest, OfLinksAndOfCards) {
  NodeKind big = Server("h200-141", 8);
  NodeKind small = Server("h20-96", 8);
  for (NodeKind* const kind : {&big, &small}) kind->nics = {Port(100, NicProtocol::kRoce, 0)};
  const Plan plan = Evaluate(ExampleFromConfig("dense-70b"), OnCluster({big, small}, 16));
  EXPECT_EQ(PlacementIds(plan),
            (std::vector<std::string>{"placement.link_facts", "placement.mixed_cards",
                                      "placement.nic_socket", "placement.single_nic"}));
  EXPECT_EQ(plan.verdict, Verdict::kFits);
}

TEST(PlacementFindingsTest, NothingToSayOfOneKnownNode) {
  EXPECT_TRUE(
      PlacementIds(Evaluate(ExampleFromConfig("dense-70b"), OnCluster({Server("h200-141", 8)}, 8)))
          .empty());
  Deployment brief;
  brief.gpu = "h200-141";
  brief.sizes.tp = 8;
  brief.settings.max_model_len = 4096;
  EXPECT_TRUE(PlacementIds(Evaluate(ExampleFromConfig("dense-70b"), brief)).empty());
}

}  // namespace
}  // namespace shardplan
