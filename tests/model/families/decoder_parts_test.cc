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

TEST(DecoderParts, Fp8BlocksOrNothing) {
  Architecture arch;
  nlohmann::json config = TinyDense();
  ConfigReader plain(config, "config.json");
  EXPECT_EQ(families::ReadFp8Blocks(plain, "x", &arch)->scheme, QuantScheme::kPlain);
  EXPECT_EQ(arch.quantization, "");
  config["quantization_config"] = {{"quant_method", "fp8"}, {"weight_block_size", {128, 64}}};
  ConfigReader fp8(config, "config.json");
  const auto format = families::ReadFp8Blocks(fp8, "x", &arch);
  EXPECT_EQ(format->block_out, 128);
  EXPECT_EQ(format->block_in, 64);
  EXPECT_EQ(arch.quantization, "fp8");
  config["quantization_config"] = {{"quant_method", "gptq"}};
  ConfigReader other(config, "config.json");
  EXPECT_EQ(families::ReadFp8Blocks(other, "x", &arch).error().ToString(),
            "config.json: quantization method 'gptq' is not known for x; fp8 with a "
            "weight_block_size of two numbers is");
  EXPECT_EQ(
      families::UnknownQuantization(other, "", "y", "do that").value().ToString(),
      "config.json: a quantization_config without a quant_method is not known for y; do that");
}

TEST(DecoderParts, EngineScalesOfFp8AttentionAreNotStored) {
  TensorTable table;
  families::TableBuilder t(&table, DType::kBF16);
  Architecture arch;
  arch.heads = 8;
  arch.kv_heads = 2;
  arch.head_dim = 4;
  arch.hidden = 32;
  families::GqaOptions options;
  options.quant = {QuantScheme::kFp8Block, 4, 4};
  families::AddGqa(t, "l.", arch, options);
  int scales = 0;
  for (const ModuleRow& row : table.rows) {
    if (row.stored) continue;
    ++scales;
    EXPECT_TRUE(StoredTensors(row).empty());
  }
  EXPECT_EQ(scales, 4);
}

}  // namespace
}  // namespace shardplan
