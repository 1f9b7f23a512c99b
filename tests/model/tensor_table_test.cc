#include "shardplan/model/tensor_table.h"

#include <gtest/gtest.h>

namespace shardplan {
namespace {

ModuleRow Linear(int64_t out, int64_t in, QuantFormat quant) {
  ModuleRow row;
  row.name = "m.{L}.x";
  row.shape = Shape{out, in};
  row.quant = quant;
  return row;
}

TEST(StoredTensors, ByScheme) {
  ModuleRow plain = Linear(6, 4, {});
  plain.bias = true;
  auto tensors = StoredTensors(plain);
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[0].suffix, ".weight");
  EXPECT_EQ(tensors[0].parameters, 24);
  EXPECT_EQ(tensors[1].suffix, ".bias");
  EXPECT_EQ(tensors[1].shape, (Shape{6}));

  tensors = StoredTensors(Linear(576, 7168, {QuantScheme::kFp8Block, 128, 128}));
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[0].dtype, DType::kF8E4M3);
  EXPECT_EQ(tensors[1].suffix, ".weight_scale_inv");
  EXPECT_EQ(tensors[1].shape, (Shape{5, 56}));  // 576 rows are four and a half blocks
  EXPECT_EQ(tensors[1].parameters, 0);

  tensors = StoredTensors(Linear(3072, 3584, {QuantScheme::kMxfp4, 1, 32}));
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[0].suffix, ".weight_packed");
  EXPECT_EQ(tensors[0].shape, (Shape{3072, 1792}));
  EXPECT_EQ(tensors[0].parameters, 3072 * 3584);
  EXPECT_EQ(tensors[1].shape, (Shape{3072, 112}));
}

// A fused projection is one tensor in the file, and a row a part where it is sliced.
TEST(SlicedRows, PartsShareTheParameterAndNotTheRule) {
  ModuleRow fused = Linear(12, 4, {});
  fused.param = "qkv";
  fused.bias = true;
  fused.parts = {{Split::kColumn, 8}, {Split::kKvHeads, 2}, {Split::kKvHeads, 2, 1}};
  ModuleRow plain = Linear(4, 8, {});
  plain.param = "o";
  plain.split = Split::kRow;
  TensorTable table;
  table.rows = {fused, plain};
  EXPECT_EQ(StoredTensors(fused).front().shape, (Shape{12, 4}));
  EXPECT_EQ(Totals(table).parameters, 12 * 4 + 12 + 4 * 8);

  const std::vector<ModuleRow> rows = SlicedRows(table);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].shape, (Shape{8, 4}));
  EXPECT_EQ(rows[0].split, Split::kColumn);
  EXPECT_EQ(rows[2].shape, (Shape{2, 4}));
  EXPECT_EQ(rows[2].split, Split::kKvHeads);
  EXPECT_EQ(rows[1].kv_heads, 0);
  EXPECT_EQ(rows[2].kv_heads, 1);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(rows[i].param, "qkv");
    EXPECT_TRUE(rows[i].parts.empty());
  }
  EXPECT_EQ(rows[3].split, Split::kRow);
}

TEST(StoredTensors, ALoneTensorHasNoSuffix) {
  ModuleRow row;
  row.form = Form::kTensor;
  row.name = "a.A_log";
  row.shape = Shape{128};
  row.dtype = DType::kF32;
  const auto tensors = StoredTensors(row);
  ASSERT_EQ(tensors.size(), 1u);
  EXPECT_EQ(tensors[0].suffix, "");
  EXPECT_EQ(tensors[0].parameters, 128);
}

TEST(LayerSets, SortedAndCounted) {
  const LayerSet set({5, 1, 3});
  EXPECT_TRUE(set.Contains(3));
  EXPECT_FALSE(set.Contains(2));
  EXPECT_EQ(set.CountIn(1, 5), 2);
  EXPECT_EQ(set.CountIn(0, 100), 3);
  EXPECT_EQ(LayerSet::Range(2, 2).size(), 0);
}

TEST(Names, Expand) {
  EXPECT_EQ(ExpandName("l.{L}.e.{E}.b.{B}.w", 3, 17, 2), "l.3.e.17.b.2.w");
  EXPECT_EQ(ExpandName("plain", 3, 17, 2), "plain");
}

TEST(Names, ForEachTensorWalksExpertsAndBlocks) {
  ModuleRow row = Linear(2, 2, {QuantScheme::kMxfp4, 1, 32});
  row.name = "l.{L}.e.{E}.w";
  row.experts = 2;
  std::vector<std::string> names;
  ForEachTensor(row, 7, [&](std::string name, const StoredTensor&) { names.push_back(name); });
  EXPECT_EQ(names, (std::vector<std::string>{"l.7.e.0.w.weight_packed", "l.7.e.0.w.weight_scale",
                                             "l.7.e.1.w.weight_packed", "l.7.e.1.w.weight_scale"}));
}

TEST(TableTotals, MultiplyInsteadOfEnumerating) {
  TensorTable table;
  ModuleRow row = Linear(8, 64, {QuantScheme::kMxfp4, 1, 32});
  row.layers = LayerSet::Range(0, 10);
  row.experts = 100;
  table.rows.push_back(row);
  const TensorTotals totals = Totals(table);
  EXPECT_EQ(totals.tensors, 2000);
  EXPECT_EQ(totals.parameters, 1000 * 512);
  EXPECT_EQ(totals.elements, 1000 * (256 + 16));
  EXPECT_EQ(totals.payload, Bytes(1000 * (256 + 16)));
}

TEST(TableTotals, ThrowInsteadOfWrapping) {
  TensorTable table;
  ModuleRow row = Linear(int64_t{1} << 40, int64_t{1} << 40, {});
  table.rows.push_back(row);
  EXPECT_THROW(Totals(table), SizeOverflow);
}

TEST(Roles, HaveNames) {
  std::vector<std::string_view> names;
  for (const Role role : AllRoles()) {
    for (const std::string_view other : names) EXPECT_NE(ToString(role), other);
    names.push_back(ToString(role));
  }
  EXPECT_EQ(names.size(), 16u);
  EXPECT_EQ(ToString(QuantScheme::kFp8Block), "fp8_block");
}

}  // namespace
}  // namespace shardplan
