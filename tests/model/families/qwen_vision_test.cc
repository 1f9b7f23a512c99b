#include "model/families/qwen_vision.h"

#include <gtest/gtest.h>

#include <set>

#include "support/tiny_models.h"

namespace shardplan {
namespace {

using testing_support::TinyQwenVision;

Architecture Text() {
  Architecture arch;
  arch.hidden = 32;
  return arch;
}

TensorTable QwenTower(const nlohmann::json& config) {
  ConfigReader reader(config, "config.json");
  Architecture arch = Text();
  const families::QwenVision v = families::ReadQwenVision(reader, &arch);
  EXPECT_TRUE(reader.ok()) << (reader.ok() ? "" : reader.error().ToString());
  TensorTable table;
  families::TableBuilder t(&table, DType::kBF16);
  families::AddQwenVision(t, v, arch);
  return table;
}

TEST(QwenVision, EveryRowIsTheTowers) {
  nlohmann::json config = TinyQwenVision();
  config["deepstack_visual_indexes"] = {0, 1};
  std::set<std::string> seen;
  for (const ModuleRow& row : QwenTower(config).rows) {
    EXPECT_TRUE(row.is_tower()) << row.name;
    EXPECT_EQ(row.placement, Placement::kEveryStage) << row.name;
    EXPECT_EQ(row.name, "model." + row.param);
    EXPECT_TRUE(seen.insert(row.name).second) << row.name;
  }
  EXPECT_EQ(seen.size(), 19u);
}

// Counted by hand: 16 wide, 24 in the MLP, 2 blocks, groups of 4 patches, text of 32.
TEST(QwenVision, Parameters) {
  const int64_t patches = 16 * 3 * 2 * 2 * 2 + 16 + 16 * 16;
  const int64_t merger = 2 * 16 + (64 * 64 + 64) + (32 * 64 + 32);
  const int64_t deep = 2 * 64 + (64 * 64 + 64) + (32 * 64 + 32);
  const int64_t block = 4 * 16 + (48 * 16 + 48) + (16 * 16 + 16) + (24 * 16 + 24) + (16 * 24 + 16);
  EXPECT_EQ(Totals(QwenTower(TinyQwenVision())).parameters, patches + merger + 2 * block);
  nlohmann::json config = TinyQwenVision();
  config["deepstack_visual_indexes"] = {1};
  EXPECT_EQ(Totals(QwenTower(config)).parameters, patches + merger + deep + 2 * block);
}

TEST(QwenVision, Contradictions) {
  const auto error = [](const nlohmann::json& changes) {
    nlohmann::json config = TinyQwenVision();
    config.update(changes);
    ConfigReader reader(config, "config.json", "vision_config.");
    Architecture arch = Text();
    families::ReadQwenVision(reader, &arch);
    return reader.ok() ? std::string("read") : reader.error().ToString();
  };
  EXPECT_EQ(error({{"num_heads", 3}}),
            "config.json: vision_config.num_heads: does not divide hidden_size");
  EXPECT_EQ(error({{"deepstack_visual_indexes", {2}}}),
            "config.json: vision_config.deepstack_visual_indexes: expected a list of integers from "
            "0 to 1, found 2");
}

}  // namespace
}  // namespace shardplan
