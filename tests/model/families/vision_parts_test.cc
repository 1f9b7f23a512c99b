#include "model/families/vision_parts.h"

#include <gtest/gtest.h>

#include <functional>

#include "support/tiny_families.h"

namespace shardplan::families {
namespace {

using AddTower = std::function<void(TableBuilder&, ConfigReader&, const VisionShape&)>;

TensorTable TowerParts(const nlohmann::json& json, const AddTower& add) {
  ConfigReader vision(json, "config.json", "vision_config.");
  const VisionShape shape = ReadVision(vision);
  TensorTable table;
  TableBuilder t(&table, DType::kBF16);
  t.At(Placement::kEveryStage);
  add(t, vision, shape);
  EXPECT_TRUE(vision.ok());
  return table;
}

TEST(VisionParts, RowsAreTheTowers) {
  const TensorTable table =
      TowerParts(testing_support::TinySiglip(), [](auto& t, auto& vision, const auto& shape) {
        AddSiglip(t, vision, shape, "vision_tower.");
      });
  for (const ModuleRow& row : table.rows) {
    EXPECT_TRUE(row.is_tower()) << row.name;
    EXPECT_EQ(row.placement, Placement::kEveryStage) << row.name;
    EXPECT_EQ(row.blocks, row.name.find("{B}") == std::string::npos ? 0 : 2) << row.name;
    // 16 and 24 are no multiples of 64: the MLPs stay plain.
    if (row.form == Form::kLinear) {
      EXPECT_EQ(row.quantizable, row.name.find("self_attn") != std::string::npos) << row.name;
    }
  }
  // 8 × 8 patches of 2 × 2 pixels.
  EXPECT_EQ(table.rows[2].shape, (Shape{64, 16}));
}

TEST(VisionParts, ATowerOfTransformersStaysWhole) {
  const nlohmann::json json = testing_support::TinyGemma4()["vision_config"];
  const TensorTable table = TowerParts(json, [](auto& t, auto& vision, const auto& shape) {
    AddGemma4Vision(t, vision, shape, "model.vision_tower.", "vision_tower.");
  });
  for (const ModuleRow& row : table.rows) {
    EXPECT_EQ(row.split, Split::kReplicated) << row.name;
    EXPECT_EQ(row.name.find("model.vision_tower."), 0u);
    EXPECT_EQ(row.param.find("vision_tower."), 0u);
  }
}

TEST(VisionParts, HeadsDivideTheTower) {
  nlohmann::json json = testing_support::TinySiglip();
  json["num_attention_heads"] = 5;
  ConfigReader vision(json, "config.json", "vision_config.");
  ReadVision(vision);
  EXPECT_EQ(vision.error().ToString(),
            "config.json: vision_config.num_attention_heads: does not divide hidden_size");
}

}  // namespace
}  // namespace shardplan::families
