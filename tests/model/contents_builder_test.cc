#include "model/contents_builder.h"

#include <gtest/gtest.h>

#include "support/tiny_models.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::TinyDense;
using testing_support::TinyLongcatFlash;

TEST(ContentsBuilderTest, GroupsTakeTheDTypeThatIsGiven) {
  const TensorTable table = Build(TinyDense()).table;
  ContentsBuilder builder(table);
  const ModuleRow& row = table.rows[0];
  const StoredTensor tensor = StoredTensors(row)[0];
  builder.AddGroup(row, tensor, DType::kF32, 3);
  builder.AddGroup(row, tensor, DType::kBF16, 0);  // none: no group
  const Contents contents = builder.Take();
  ASSERT_EQ(contents.groups.size(), 1u);
  const TensorGroup& group = contents.groups[0];
  const int64_t elements = tensor.shape.Elements();
  EXPECT_EQ(group.name, row.name + tensor.suffix);
  EXPECT_EQ(group.role, row.role);
  EXPECT_EQ(group.dtype, DType::kF32);
  EXPECT_EQ(group.amount, (Amount{3, 3 * elements, 3 * elements, Bytes(12 * elements)}));
  EXPECT_TRUE(contents.layers.empty());
}

TEST(ContentsBuilderTest, UnexplainedTensorsAreFoldedByPatternDTypeAndShape) {
  ContentsBuilder builder(TensorTable{});
  for (int i = 0; i < 3; ++i) builder.AddUnexplained("x.{}.w", DType::kF4, Shape{4, 8}, false);
  builder.AddUnexplained("x.{}.w", DType::kF4, Shape{8, 8}, false);
  builder.AddUnexplained("l.{}.inv_freq", DType::kF32, Shape{2}, true);
  const Contents contents = builder.Take();
  ASSERT_EQ(contents.groups.size(), 3u);
  EXPECT_EQ(contents.groups[0].role, Role::kLeftover);
  EXPECT_EQ(contents.groups[1].role, std::nullopt);
  EXPECT_EQ(contents.groups[1].amount, (Amount{3, 96, 96, Bytes(48)}));
  EXPECT_EQ(contents.groups[2].amount.tensors, 1);
  EXPECT_EQ(contents.groups[2].placement, Placement::kNotLoaded);
}

TEST(ContentsBuilderTest, LayersLeaveLeftoversOut) {
  const TensorTable table = Build(TinyDense()).table;
  ContentsBuilder builder(table);
  ModuleRow row;
  row.role = Role::kNorm;
  builder.AddToLayer(row, 2, {1, 8, 8, Bytes(16)});
  builder.AddToLayer(row, 2, {1, 8, 8, Bytes(16)});
  builder.AddToLayer(row, -1, {1, 8, 8, Bytes(16)});  // outside the layers
  row.role = Role::kLeftover;
  builder.AddToLayer(row, 3, {1, 8, 8, Bytes(16)});
  const Contents contents = builder.Take();
  ASSERT_EQ(contents.layers.size(), 1u);
  EXPECT_EQ(contents.layers[0].layer, 2);
  EXPECT_EQ(contents.layers[0].amount, (Amount{2, 16, 16, Bytes(32)}));
}

// LongCat-Flash numbers its draft from 0: it is no part of decoder layer 0.
TEST(ContentsBuilderTest, DraftsFollowTheDecoder) {
  const ModelSpec spec = Build(TinyLongcatFlash());
  const std::vector<LayerContents> layers = ContentsOf(spec.table).layers;
  ASSERT_EQ(layers.size(), static_cast<size_t>(spec.arch.layers() + 1));
  EXPECT_EQ(layers.back().layer, spec.arch.layers());
  EXPECT_TRUE(layers.back().Has(Role::kDraft));
  EXPECT_FALSE(layers[0].Has(Role::kDraft));
  EXPECT_EQ(layers[0].amount, layers[1].amount);
}

}  // namespace
}  // namespace shardplan
