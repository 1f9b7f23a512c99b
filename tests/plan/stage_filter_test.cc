#include "plan/stage_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/padded_text.h"
#include "support/example_model.h"
#include "support/tiny_models.h"

namespace shardplan {
namespace {

using testing::ElementsAre;
using testing_support::Build;
using testing_support::TinyDeepseek;

// Layers 0 to 4 and a draft layer 5, one tensor each, one shard each.
constexpr const char* kIndex = R"({"weight_map":{
    "model.embed_tokens.weight":"e",
    "model.layers.0.input_layernorm.weight":"0",
    "model.layers.3.input_layernorm.weight":"3",
    "model.layers.4.mlp.experts.9.up_proj.weight":"4",
    "model.layers.5.eh_proj.weight":"d",
    "model.layers.3.self_attn.something_new":"n",
    "lm_head.weight":"h"}})";

ParsedIndex Parse(const char* text) {
  const Result<ParsedIndex> index = ParseIndex("i", PaddedText(text));
  EXPECT_TRUE(index.has_value());
  return index ? *index : ParsedIndex();
}

TEST(StageFilterTest, LayersOfTheStageAndAllThatIsOutside) {
  const ParsedIndex index = Parse(kIndex);
  const ModelSpec spec = Build(TinyDeepseek());
  const StageFilter filter(spec.table, index.patterns, index.entries, index.shard_names.size());
  // Draft layers and what no row explains are kept by every stage, whatever number they have.
  const StageFilter::Kept first = filter.For({{0, 3}});
  EXPECT_THAT(first.entries, ElementsAre(true, true, false, false, true, true, true));
  EXPECT_THAT(first.shards, ElementsAre(true, true, false, false, true, true, true));
  EXPECT_EQ(first.count, 5);
  EXPECT_THAT(filter.For({{3, 2}}).entries, ElementsAre(true, false, true, true, true, true, true));
  // Stages of one node need not be neighbours.
  EXPECT_THAT(filter.For({{0, 1}, {4, 1}}).entries,
              ElementsAre(true, true, false, true, true, true, true));
  EXPECT_EQ(filter.For({{0, 5}}).count, 7);
}

TEST(StageFilterTest, WhatNoEngineLoadsStaysWithItsShard) {
  TensorTable table = Build(TinyDeepseek()).table;
  ModuleRow row;
  row.name = "buffer";
  row.form = Form::kTensor;
  row.role = Role::kLeftover;
  row.placement = Placement::kNotLoaded;
  row.shape = Shape{2};
  table.rows.push_back(row);
  const ParsedIndex index = Parse(R"({"weight_map":{
      "buffer":"0",
      "model.layers.0.input_layernorm.weight":"0",
      "model.layers.1.input_layernorm.weight":"1"}})");
  const StageFilter filter(table, index.patterns, index.entries, index.shard_names.size());
  EXPECT_THAT(filter.For({{0, 1}}).entries, ElementsAre(true, true, false));
  EXPECT_THAT(filter.For({{1, 1}}).entries, ElementsAre(false, false, true));
}

}  // namespace
}  // namespace shardplan
