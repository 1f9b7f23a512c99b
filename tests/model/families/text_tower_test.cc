#include "model/families/text_tower.h"

#include <gtest/gtest.h>

namespace shardplan::families {
namespace {

TEST(TextTower, SizesComeFromTheTextAndTheNameFromTheWhole) {
  const nlohmann::json json = {{"architectures", {"Whole"}},
                               {"torch_dtype", "float16"},
                               {"tie_word_embeddings", true},
                               {"text_config", {{"hidden_size", 8}, {"vocab_size", 10}}}};
  ConfigReader config(json, "config.json");
  ConfigReader text = TextConfig(config);
  Architecture a;
  ReadSizes(config, text, {0, 4096, false}, &a);
  EXPECT_TRUE(text.ok());
  EXPECT_EQ(a.name, "Whole");
  EXPECT_EQ(a.hidden, 8);
  EXPECT_EQ(a.max_positions, 4096);
  EXPECT_EQ(a.dtype, DType::kF16);
  EXPECT_TRUE(a.tied_embeddings);
  ReadSizes(config, text, {}, &a);
  EXPECT_EQ(text.error().ToString(),
            "config.json: text_config.max_position_embeddings: expected an integer from 1 to "
            "4,294,967,296, found nothing");
}

TEST(TextTower, AConfigWithoutATextIsItsOwn) {
  const nlohmann::json json = {{"hidden_size", 8}};
  ConfigReader config(json, "config.json");
  EXPECT_EQ(TextConfig(config).Dim("hidden_size"), 8);
}

TEST(TextTower, WindowsOfEveryLayerOrOfSome) {
  const auto read = [](const nlohmann::json& json) {
    ConfigReader config(json, "config.json");
    Architecture a;
    a.attention.assign(3, AttentionKind::kFull);
    ReadSlidingWindow(config, 3, &a);
    EXPECT_TRUE(config.ok());
    return a;
  };
  EXPECT_EQ(read({{"sliding_window", nullptr}}).CountKind(AttentionKind::kSliding, 0, 3), 0);
  EXPECT_EQ(read({{"sliding_window", 16}}).CountKind(AttentionKind::kSliding, 0, 3), 3);
  const nlohmann::json types = {"sliding_attention", "full_attention", "sliding_attention"};
  const Architecture some = read({{"sliding_window", 16}, {"layer_types", types}});
  EXPECT_EQ(some.CountKind(AttentionKind::kSliding, 0, 3), 2);
  EXPECT_EQ(some.window, 16);
  const nlohmann::json full = {"full_attention", "full_attention", "full_attention"};
  EXPECT_EQ(read({{"layer_types", full}}).window, 0);

  const nlohmann::json odd = {{"layer_types", {"full_attention", "linear", "full_attention"}}};
  ConfigReader config(odd, "config.json");
  Architecture a;
  ReadSlidingWindow(config, 3, &a);
  EXPECT_EQ(config.error().ToString(),
            "config.json: layer_types: expected full_attention and sliding_attention");
}

TEST(TextTower, ATowerThatTheConfigLeavesOutIsMissed) {
  const auto findings = [](const char* name, const nlohmann::json& json) {
    ModelSpec spec;
    spec.arch.name = name;
    WarnOfAbsentTower(ConfigReader(json, "config.json"), &spec);
    return spec.findings.size();
  };
  const nlohmann::json with = {{"vision_config", {{"hidden_size", 8}}}};
  EXPECT_EQ(findings("XForConditionalGeneration", {{"hidden_size", 8}}), 1u);
  EXPECT_EQ(findings("XForConditionalGeneration", with), 0u);
  EXPECT_EQ(findings("XForCausalLM", {{"hidden_size", 8}}), 0u);
}

TEST(TextTower, NoRowsWhereThereAreNoLayers) {
  TensorTable table;
  TableBuilder t(&table, DType::kBF16);
  InLayers(t, LayerSet(), [&] { t.Norm("a", "a", 1); });
  EXPECT_TRUE(table.rows.empty());
  InLayers(t, LayersWhere(4, [](int64_t layer) { return layer % 2 == 1; }),
           [&] { t.Norm("a", "a", 1); });
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(table.rows[0].layers.layers(), (std::vector<int64_t>{1, 3}));
}

TEST(TextTower, PartsAddUpToTheRow) {
  TensorTable table;
  TableBuilder t(&table, DType::kBF16);
  Architecture a;
  a.hidden = 8;
  a.heads = 4;
  a.kv_heads = 2;
  a.head_dim = 3;
  a.v_head_dim = 5;
  for (const ModuleRow& row : {AddFusedQkv(t, "qkv", "qkv", a),
                               AddFusedHalves(t, "gate_up", "gate_up", Role::kDenseMlp, 8, 6)}) {
    int64_t rows = 0;
    for (const RowPart& part : row.parts) rows += part.rows;
    EXPECT_EQ(rows, row.shape.dims[0]) << row.name;
  }
  EXPECT_EQ(table.rows[0].shape, (Shape{4 * 3 + 2 * 3 + 2 * 5, 8}));
}

}  // namespace
}  // namespace shardplan::families
