#include <gtest/gtest.h>

#include "model/families/families.h"

namespace shardplan {
namespace {

TEST(TableBuilder, RowsTakeLayersPlacementAndDType) {
  TensorTable table;
  families::TableBuilder t(&table, DType::kF16);
  t.In(LayerSet::Range(2, 5)).Norm("model.layers.{L}.norm", "norm", 64);
  t.At(Placement::kLastStage).Linear("head", "head", Role::kHead, Split::kVocabulary, 100, 64);
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[0].Count(), 3);
  EXPECT_EQ(table.rows[0].name, "model.layers.{L}.norm.weight");
  EXPECT_EQ(table.rows[0].param, "norm.weight");
  EXPECT_EQ(table.rows[0].dtype, DType::kF16);
  EXPECT_EQ(table.rows[1].placement, Placement::kLastStage);
  EXPECT_TRUE(table.rows[1].layers.empty());
}

TEST(TableBuilder, ReadsDTypes) {
  for (const auto& [name, dtype] :
       {std::pair("bfloat16", DType::kBF16), std::pair("float32", DType::kF32),
        std::pair("torch.float16", DType::kF16)}) {
    const nlohmann::json object = {{"torch_dtype", name}};
    ConfigReader reader(object, "config.json");
    EXPECT_EQ(families::ModelDType(reader), dtype);
  }
  const nlohmann::json none = nlohmann::json::object();
  ConfigReader reader(none, "config.json");
  EXPECT_EQ(families::ModelDType(reader), DType::kBF16);
  EXPECT_EQ(families::ArchitectureName(reader), "");
}

}  // namespace
}  // namespace shardplan
