#include "sharding/sliced_tensor.h"

#include <gtest/gtest.h>

namespace shardplan {
namespace {

ModuleRow Row(Split split, Shape shape, int dim, bool guessed = false) {
  ModuleRow row;
  row.form = Form::kTensor;
  row.role = Role::kAttention;
  row.split = split;
  row.shape = std::move(shape);
  row.param = "x.weight";
  row.slice = TensorSlice();
  row.slice->dim = dim;
  row.slice->guessed = guessed;
  return row;
}

ShardingRules SliceRules(int64_t tp, bool ep = false) {
  ShardingRules rules;
  rules.sizes.tp = tp;
  rules.sizes.expert_parallel = ep;
  rules.local_experts = 2;
  return rules;
}

Architecture Arch() {
  Architecture arch;
  arch.kv_heads = 2;
  arch.moe.experts = 8;
  return arch;
}

Shape ShapeOf(const ModuleRow& row, const ShardingRules& rules) {
  return SliceTensor({&row}, Arch(), rules).shape;
}

TEST(SliceTensor, AlongTheGivenDimension) {
  EXPECT_EQ(ShapeOf(Row(Split::kColumn, {8, 6}, 0), SliceRules(4)), (Shape{2, 6}));
  EXPECT_EQ(ShapeOf(Row(Split::kColumn, {6, 8}, 1), SliceRules(4)), (Shape{6, 2}));
  EXPECT_EQ(ShapeOf(Row(Split::kRow, {6, 8}, 1), SliceRules(4)), (Shape{6, 2}));
  EXPECT_EQ(ShapeOf(Row(Split::kRow, {6}, -1), SliceRules(4)), (Shape{6}));
  EXPECT_EQ(ShapeOf(Row(Split::kKvHeads, {8, 6}, 0), SliceRules(4)), (Shape{4, 6}));
  EXPECT_EQ(ShapeOf(Row(Split::kVocabulary, {100, 6}, 0), SliceRules(4)), (Shape{32, 6}));
}

TEST(SliceTensor, PartsOfAFusedTensorAndItsScales) {
  ModuleRow row = Row(Split::kColumn, {32, 6}, 0);
  row.slice->parts = {{Split::kColumn, 16}, {Split::kKvHeads, 8}, {Split::kKvHeads, 8}};
  EXPECT_EQ(ShapeOf(row, SliceRules(4)), (Shape{4 + 4 + 4, 6}));
  row.shape = {8, 6};  // one scale per four rows
  row.slice->rounds_up = true;
  EXPECT_EQ(ShapeOf(row, SliceRules(4)), (Shape{1 + 1 + 1, 6}));
}

TEST(SliceTensor, ExpertsWholeOrTheirSlices) {
  ModuleRow row = Row(Split::kExpertGate, {12, 6}, 0);
  row.experts = 8;
  EXPECT_EQ(ShapeOf(row, SliceRules(4)), (Shape{8, 3, 6}));
  EXPECT_EQ(ShapeOf(row, SliceRules(4, true)), (Shape{2, 12, 6}));
  ModuleRow stack = Row(Split::kExpertDown, {8, 6, 12}, 2);
  stack.slice->stacked = true;
  EXPECT_EQ(ShapeOf(stack, SliceRules(4)), (Shape{8, 6, 3}));
  EXPECT_EQ(ShapeOf(stack, SliceRules(4, true)), (Shape{2, 6, 12}));
  // One that is unlike the others: its part of every rank.
  EXPECT_EQ(SliceTensor({&stack, &stack}, Arch(), SliceRules(4, true)).bytes,
            Bytes(2 * 2 * 72 * 2));
  const ModuleRow odd = Row(Split::kExpertGate, {12, 6}, 0);
  EXPECT_EQ(SliceTensor({&odd}, Arch(), SliceRules(4, true)).bytes, Bytes(36));
}

TEST(SliceTensor, TheEndsOfAGuess) {
  const ModuleRow row = Row(Split::kReplicated, {5, 6}, -1, true);
  ShardingRules rules = SliceRules(4);
  const DeviceParam central = SliceTensor({&row}, Arch(), rules);
  EXPECT_EQ(central.bytes, Bytes(60));
  EXPECT_EQ(central.basis, Basis::kAssumed);
  rules.guess = GuessEnd::kFinest;
  EXPECT_EQ(SliceTensor({&row}, Arch(), rules).bytes, Bytes(15));
  rules.guess = GuessEnd::kWhole;
  const ModuleRow column = Row(Split::kColumn, {8, 6}, 0, true);
  EXPECT_EQ(SliceTensor({&column}, Arch(), rules).bytes, Bytes(96));
  // What is recognised has no ends.
  const ModuleRow known = Row(Split::kColumn, {8, 6}, 0);
  EXPECT_EQ(SliceTensor({&known}, Arch(), rules).bytes, Bytes(24));
  EXPECT_EQ(SliceTensor({&known}, Arch(), rules).basis, Basis::kDerived);
}

TEST(SliceTensor, SequenceParallelSharedExpertsAreAGuess) {
  const ModuleRow row = Row(Split::kSharedColumn, {8, 6}, 0);
  ShardingRules rules = SliceRules(4, true);
  EXPECT_EQ(SliceTensor({&row}, Arch(), rules).bytes, Bytes(24));
  rules.guess = GuessEnd::kWhole;
  EXPECT_EQ(SliceTensor({&row}, Arch(), rules).bytes, Bytes(24));
  rules.replicate_shared = true;
  EXPECT_EQ(SliceTensor({&row}, Arch(), rules).bytes, Bytes(96));
  rules.guess = GuessEnd::kFinest;
  EXPECT_EQ(SliceTensor({&row}, Arch(), rules).bytes, Bytes(24));
}

TEST(SliceTensor, AGuessThatDoesNotDivideStaysWhole) {
  const ModuleRow row = Row(Split::kColumn, {7, 6}, 0, true);
  const DeviceParam param = SliceTensor({&row}, Arch(), SliceRules(4));
  EXPECT_EQ(param.shape, (Shape{7, 6}));
  EXPECT_EQ(param.rule, "guessed: whole: 7 ÷ TP 4 leaves a rest");
  std::vector<Indivisible> problems;
  CheckSlice(row, Arch(), SliceRules(4), &problems);
  EXPECT_TRUE(problems.empty());
}

// 20 of 80 become 32, a width of 6 becomes 8.
TEST(SliceTensor, Mxfp4ExpertsArePadded) {
  Architecture arch = Arch();
  arch.quantization = "mxfp4";
  arch.hidden = 6;
  arch.moe.intermediate = 80;
  ShardingRules rules = SliceRules(4);
  rules.expert_intermediate = 32;
  rules.expert_width = 8;
  ModuleRow row = Row(Split::kExpertGate, {80, 3}, 0);
  row.dtype = row.device_dtype = DType::kU8;
  row.experts = 8;
  EXPECT_EQ(SliceTensor({&row}, arch, rules).bytes, Bytes(8 * 32 * 4));
  row.experts = 0;
  row.shape = {8, 80, 3};
  row.slice->stacked = true;
  row.slice->dim = 1;
  EXPECT_EQ(SliceTensor({&row}, arch, rules).bytes, Bytes(8 * 32 * 4));
}

TEST(CheckSlice, WhatIsRecognisedHasToDivide) {
  const auto ids = [](const ModuleRow& row, const ShardingRules& rules) {
    std::vector<Indivisible> problems;
    CheckSlice(row, Arch(), rules, &problems);
    return problems.empty() ? std::string() : problems.front().id;
  };
  EXPECT_EQ(ids(Row(Split::kColumn, {7, 6}, 0), SliceRules(4)), "sharding.column");
  EXPECT_EQ(ids(Row(Split::kRow, {8, 6}, 1), SliceRules(4)), "sharding.row");
  EXPECT_EQ(ids(Row(Split::kKvHeads, {6, 6}, 0), SliceRules(3)), "sharding.kv_heads");
  EXPECT_EQ(ids(Row(Split::kExpertDown, {8, 6}, 1), SliceRules(4)), "sharding.expert");
  EXPECT_EQ(ids(Row(Split::kExpertDown, {8, 6}, 1), SliceRules(4, true)), "");
  EXPECT_EQ(ids(Row(Split::kVocabulary, {100, 6}, 0), SliceRules(3)), "sharding.vocabulary");
  EXPECT_EQ(ids(Row(Split::kColumn, {8, 6}, 0), SliceRules(4)), "");
}

}  // namespace
}  // namespace shardplan
