#include "model/families/deepseek_parts.h"

#include <gtest/gtest.h>

#include "support/tiny_models.h"

namespace shardplan {
namespace {

using testing_support::TinyDeepseek;
using testing_support::TinyDeepseekSparse;

Architecture ReadDeepseekConfig(const nlohmann::json& config) {
  ConfigReader reader(config, "config.json");
  Architecture arch;
  families::ReadDeepseek(reader, &arch);
  families::ReadIndexer(reader, &arch);
  EXPECT_TRUE(reader.ok()) << reader.error().ToString();
  return arch;
}

std::string ReadError(const nlohmann::json& config) {
  ConfigReader reader(config, "config.json");
  Architecture arch;
  families::ReadDeepseek(reader, &arch);
  families::ReadIndexer(reader, &arch);
  return reader.ok() ? "read" : reader.error().ToString();
}

TEST(DeepseekParts, RouterBiasFollowsTheMethod) {
  nlohmann::json config = TinyDeepseek();
  for (const auto& [method, bias] : {std::pair("noaux_tc", true), std::pair("greedy", false)}) {
    config["topk_method"] = method;
    ConfigReader reader(config, "config.json");
    Architecture arch;
    families::ReadDeepseek(reader, &arch);
    EXPECT_EQ(families::ReadRouterBias(reader, arch), bias);
  }
}

TEST(DeepseekParts, EveryLayerHasAnIndexerUnlessToldOtherwise) {
  nlohmann::json config = TinyDeepseekSparse();
  config.erase("indexer_types");
  EXPECT_EQ(ReadDeepseekConfig(config).indexer_layers, (std::vector<int64_t>{0, 1, 2, 3, 4}));
  config["indexer_types"] = {"full", "shared", "full", "shared", "shared"};
  EXPECT_EQ(ReadDeepseekConfig(config).indexer_layers, (std::vector<int64_t>{0, 2}));
}

// The engine's own count: all layers before the offset, then every N-th. GLM-5.2's list says the
// same.
TEST(DeepseekParts, IndexersByFrequencyAndByPattern) {
  nlohmann::json config = testing_support::ExampleConfig("zai-org__GLM-5.2");
  const std::vector<int64_t> listed = ReadDeepseekConfig(config).indexer_layers;
  EXPECT_EQ(listed.size(), 21u);
  config.erase("indexer_types");
  EXPECT_EQ(ReadDeepseekConfig(config).indexer_layers, listed);
  config = TinyDeepseekSparse();
  config.erase("indexer_types");
  config["index_topk_pattern"] = "FSSF";
  EXPECT_EQ(ReadDeepseekConfig(config).indexer_layers, (std::vector<int64_t>{0, 3, 4}));
}

TEST(DeepseekParts, IndexersThatCannotBe) {
  nlohmann::json config = TinyDeepseekSparse();
  config["indexer_types"] = {"shared", "full", "full", "full", "full"};
  EXPECT_EQ(ReadError(config),
            "config.json: indexer_types: the first layer has no indexer to share");
  config["indexer_types"] = {"full"};
  EXPECT_EQ(ReadError(config), "config.json: indexer_types: expected one entry per layer");
  config["indexer_types"] = {"full", "half", "full", "full", "full"};
  EXPECT_EQ(ReadError(config), "config.json: indexer_types: expected full or shared");
  config = TinyDeepseekSparse();
  config.erase("q_lora_rank");
  EXPECT_EQ(ReadError(config),
            "config.json: q_lora_rank: an indexer needs compressed queries, found none");
}

TEST(DeepseekParts, IndexersOfAnotherPairingHaveATableOfTheirOwn) {
  nlohmann::json config = TinyDeepseekSparse();
  EXPECT_EQ(ReadDeepseekConfig(config).rotary.tables, 2);
  config["indexer_rope_interleave"] = true;
  EXPECT_EQ(ReadDeepseekConfig(config).rotary.tables, 1);
}

TEST(DeepseekParts, PrefixesReachNamesAndWhatIsOutsideTheStack) {
  TensorTable table;
  table.layer_prefix = "model.layers.{L}.";
  families::TableBuilder t(&table, DType::kBF16);
  t.In(LayerSet::Range(0, 2)).Norm("model.layers.{L}.norm", "norm", 8);
  t.At(Placement::kLastStage).Norm("model.norm", "model.norm", 8);
  families::PrefixNames(&table, "language_model.");
  EXPECT_EQ(table.layer_prefix, "language_model.model.layers.{L}.");
  EXPECT_EQ(table.rows[0].name, "language_model.model.layers.{L}.norm.weight");
  EXPECT_EQ(table.rows[0].param, "norm.weight");
  EXPECT_EQ(table.rows[1].param, "language_model.model.norm.weight");
}

}  // namespace
}  // namespace shardplan
