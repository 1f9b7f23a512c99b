#include "plan/vllm_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/plan_world.h"

namespace shardplan {
namespace {

using ::testing::ElementsAre;
using testing_support::Cards;

struct VllmPlaced {
  NodePlacement place;
  std::vector<std::string> told;  // "id: message"
};

VllmPlaced PlaceOf(const Deployment& d) {
  VllmPlaced placed;
  std::vector<Finding> findings;
  PlaceVllm(Cards().FindGpu("h20-141").value(), Cards(), d, &placed.place, &findings);
  for (const Finding& f : findings) placed.told.push_back(f.id + ": " + f.message);
  return placed;
}

TEST(VllmPlace, TheFewestNodes) {
  Deployment d;
  d.sizes.tp = 8;
  d.sizes.pp = 2;
  const VllmPlaced placed = PlaceOf(d);
  EXPECT_EQ(placed.place.nodes, 2);
  EXPECT_EQ(placed.place.ranks_per_node, 8);
  EXPECT_FALSE(placed.place.tp_spans_nodes);
  EXPECT_THAT(placed.told, ElementsAre());
}

TEST(VllmPlace, WhatHasNoPlace) {
  Deployment d;
  d.sizes.tp = 16;
  d.nodes = 1;
  EXPECT_THAT(PlaceOf(d).told,
              ElementsAre("layout.world_size: 16 ranks need 16 GPUs, 1 node(s) of 8 have 8"));
  d.nodes.reset();
  EXPECT_TRUE(PlaceOf(d).place.tp_spans_nodes);
  d.sizes.tp = 4;
  d.settings.env = {{"CUDA_VISIBLE_DEVICES", "0,1"}};
  EXPECT_THAT(PlaceOf(d).told, ElementsAre("layout.hidden_gpus: shows 2 of a node's cards, and the "
                                           "layout has 4 ranks on it"));
}

}  // namespace
}  // namespace shardplan
