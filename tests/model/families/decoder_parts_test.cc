#include "model/families/decoder_parts.h"

#include <gtest/gtest.h>

#include "support/tiny_models.h"

namespace shardplan {
namespace {

using testing_support::TinyDense;

TEST(DecoderParts, RotaryCoversAPartOfTheHead) {
  for (const auto& [changes, dim] : {std::pair(nlohmann::json::object(), 4),
                                     std::pair(nlohmann::json{{"partial_rotary_factor", 0.5}}, 2),
                                     std::pair(nlohmann::json{{"rotary_dim", 3}}, 3)}) {
    nlohmann::json config = TinyDense();
    config.update(changes);
    ConfigReader reader(config, "config.json");
    Architecture arch;
    const int64_t layers = families::ReadDecoder(reader, &arch);
    families::ReadGqa(reader, layers, &arch);
    ASSERT_TRUE(reader.ok());
    EXPECT_EQ(arch.rotary.dim, dim);
    EXPECT_EQ(arch.rotary.positions, 8192);
  }
}

TEST(DecoderParts, YarnIsTold) {
  nlohmann::json config = TinyDense();
  config["rope_scaling"] = {{"rope_type", "yarn"}};
  ConfigReader reader(config, "config.json");
  EXPECT_TRUE(families::ReadRotary(reader, 64, 4096).yarn);
}

TEST(DecoderParts, RopeParametersAreRopeScalingsNewName) {
  nlohmann::json config = TinyDense();
  config["rope_parameters"] = {{"rope_type", "yarn"}, {"partial_rotary_factor", 0.25}};
  ConfigReader reader(config, "config.json");
  Architecture arch;
  families::ReadGqa(reader, families::ReadDecoder(reader, &arch), &arch);
  EXPECT_TRUE(arch.rotary.yarn);
  EXPECT_EQ(arch.rotary.dim, 1);
}

TEST(DecoderParts, MRopeHasFourTimesThePositions) {
  nlohmann::json config = TinyDense();
  for (const char* key : {"rope_parameters", "rope_scaling"}) {
    config[key] = {{"rope_type", "default"}, {"mrope_section", {2, 1, 1}}};
    ConfigReader reader(config, "config.json");
    EXPECT_EQ(families::ReadRotary(reader, 64, 4096).positions, 16384) << key;
    config.erase(key);
  }
}

TEST(DecoderParts, EngineScalesOfAttentionAreNotStored) {
  TensorTable table;
  families::TableBuilder t(&table, DType::kBF16);
  Architecture arch;
  arch.heads = 8;
  arch.kv_heads = 2;
  arch.head_dim = 4;
  arch.hidden = 32;
  families::GqaOptions options;
  families::AddGqa(t, "l.", arch, options);
  int scales = 0;
  for (const ModuleRow& row : table.rows) {
    if (row.stored) continue;
    ++scales;
    EXPECT_EQ(row.attention_scale, AttentionScale::kGqa);
    EXPECT_TRUE(StoredTensors(row).empty());
  }
  EXPECT_EQ(scales, 4);
}

}  // namespace
}  // namespace shardplan
