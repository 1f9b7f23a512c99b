#include "plan/weight_items.h"

#include <gtest/gtest.h>

namespace shardplan {
namespace {

DeviceParam Param(const std::string& name, int64_t bytes, int64_t blocks = 1) {
  DeviceParam param;
  param.name = name;
  param.bytes = Bytes(bytes);
  param.blocks = blocks;
  param.rule = "whole";
  return param;
}

TEST(WeightItems, TheSameInSeveralLayersIsOne) {
  DeviceWeights weights;
  weights.classes = {{{Param("a", 10), Param("b", 5)}, Bytes(15)}};
  weights.class_of_layer = {0, 0, 0};
  weights.first_stage = {Param("embed", 7)};
  weights.last_stage = {Param("head", 8)};
  weights.every_stage = {Param("tower.{B}.w", 30, 3)};
  TensorTable table;
  table.layer_prefix = "model.layers.{L}.";
  WeightItems first(Basis::kExact);
  first.AddStage(table, weights, {0, 2}, true, false);
  const std::vector<WeightItem> items = first.Take();
  ASSERT_EQ(items.size(), 4u);
  EXPECT_EQ(items[0].name, "embed");
  EXPECT_EQ(items[1].name, "model.layers.*.a");
  EXPECT_EQ(items[1].count, 2);
  EXPECT_EQ(items[1].bytes, Bytes(20));
  EXPECT_EQ(items[3].name, "tower.*.w");
  EXPECT_EQ(items[3].count, 3);
  WeightItems last(Basis::kDerived);
  last.AddStage(table, weights, {2, 1}, false, true);
  EXPECT_EQ(last.Take()[2].name, "head");
}

TEST(WeightItems, RanksAndLayoutsThatAreNone) {
  EXPECT_TRUE(CheckRank(7, 8));
  EXPECT_EQ(CheckRank(8, 8).error().ToString(), "--rank 8: expected a rank from 0 to 7");
  EXPECT_FALSE(CheckRank(-1, 8));
  EXPECT_TRUE(CheckLegal(true, {}));
  const Status illegal = CheckLegal(
      false, {{"a", Severity::kNote, "x", "y", ""}, {"b", Severity::kError, "--tp 3", "no", "4"}});
  EXPECT_EQ(illegal.error().ToString(), "--tp 3: no; 4");
}

}  // namespace
}  // namespace shardplan
