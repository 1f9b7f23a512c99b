#include "model/families/unknown_groups.h"

#include <gtest/gtest.h>

#include "support/checkpoint_builder.h"

namespace shardplan::families {
namespace {

using testing_support::CheckpointBuilder;
using testing_support::TempDir;
using testing_support::TestTensor;

Inventory Open(const TempDir& dir, const std::vector<TestTensor>& tensors) {
  CheckpointBuilder model(dir.Path("m"));
  model.Shard("model.safetensors", tensors).Config();
  Result<Inventory> inventory = OpenCheckpoint(dir.Path("m"));
  EXPECT_TRUE(inventory.has_value()) << (inventory ? "" : inventory.error().ToString());
  return inventory ? std::move(*inventory) : Inventory();
}

const UnknownGroup* Find(const UnknownStack& stack, const std::string& name) {
  for (const UnknownGroup& group : stack.groups) {
    const std::vector<int64_t>* fixed = group.fixed.empty() ? nullptr : &group.fixed;
    if (stack.names[group.pattern]->Name(fixed) == name) return &group;
  }
  return nullptr;
}

TEST(GatherTensors, LayersExpertsAndBlocks) {
  const TempDir dir;
  std::vector<TestTensor> tensors = {{"vit.blocks.0.w", "BF16", {4}},
                                     {"vit.blocks.1.w", "BF16", {4}},
                                     {"encoder.layers.0.w", "BF16", {2}}};
  for (int layer = 0; layer < 3; ++layer) {
    const std::string p = "model.layers." + std::to_string(layer) + ".";
    tensors.push_back({p + "norm.weight", "BF16", {8}});
    if (layer == 0) continue;
    for (int expert = 0; expert < 2; ++expert) {
      tensors.push_back(
          {p + "mlp.experts." + std::to_string(expert) + ".w1.weight", "BF16", {4, 8}});
    }
  }
  const UnknownStack stack = GatherTensors(Open(dir, tensors));
  EXPECT_EQ(stack.stack, "model.layers.");
  EXPECT_EQ(stack.layers, 3);
  EXPECT_EQ(stack.first_gap, -1);
  EXPECT_EQ(stack.experts, 2);
  const UnknownGroup* experts = Find(stack, "model.layers.{L}.mlp.experts.{E}.w1.weight");
  ASSERT_NE(experts, nullptr);
  EXPECT_EQ(experts->layers, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(experts->count, 2);
  ASSERT_NE(Find(stack, "vit.blocks.{B}.w"), nullptr);
  EXPECT_EQ(Find(stack, "vit.blocks.{B}.w")->count, 2);
  ASSERT_NE(Find(stack, "encoder.layers.{B}.w"), nullptr);
}

TEST(GatherTensors, NumbersWithGapsStandAlone) {
  const TempDir dir;
  const UnknownStack stack =
      GatherTensors(Open(dir, {{"model.layers.0.seq.0.weight", "BF16", {4, 4}},
                               {"model.layers.0.seq.2.weight", "BF16", {4, 4}},
                               {"model.layers.2.seq.0.weight", "BF16", {4, 4}}}));
  EXPECT_EQ(stack.layers, 3);
  EXPECT_EQ(stack.first_gap, 1);
  ASSERT_NE(Find(stack, "model.layers.{L}.seq.2.weight"), nullptr);
  EXPECT_EQ(Find(stack, "model.layers.{L}.seq.2.weight")->layers, (std::vector<int64_t>{0}));
}

TEST(GatherTensors, TooManyNamesAreNoStack) {
  const TempDir dir;
  std::vector<TestTensor> tensors;
  for (int i = 0; i < 5000; ++i) {
    tensors.push_back({"layers.0.a" + std::to_string(i), "BF16", {1}});
  }
  EXPECT_TRUE(GatherTensors(Open(dir, tensors)).too_many);
}

}  // namespace
}  // namespace shardplan::families
