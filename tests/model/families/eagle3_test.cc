#include <gtest/gtest.h>

#include "shardplan/checkpoint/inventory.h"
#include "support/example_model.h"
#include "support/model_rows.h"
#include "support/tiny_families.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::DenseConfig;
using testing_support::RowNamed;
using testing_support::With;

// The size of the published head for Llama-3.1-8B: 851,025,152 bytes of weights in 16 bits without
// the word tables: 2 × (4096·(2·(32+8+8)·128 + 4096 + 3·14336 + 3·4096 + 32000) + 4·4096).
TEST(Eagle3, AHeadOfLlama8B) {
  const nlohmann::json config = With(DenseConfig("LlamaForCausalLM", 4096, 14336, 1, 32, 8, 128256),
                                     {{"draft_vocab_size", 32000}});
  const ModelSpec spec = Build(config);
  EXPECT_EQ(spec.arch.family, "eagle3");
  int64_t weights = 0;
  for (const ModuleRow& row : spec.table.rows) {
    if (row.name == "embed_tokens.weight" || row.name == "d2t" || row.name == "t2d") continue;
    for (const StoredTensor& tensor : StoredTensors(row)) weights += tensor.parameters;
  }
  EXPECT_EQ(weights,
            4096LL * (2 * (32 + 8 + 8) * 128 + 4096 + 3 * 14336 + 3 * 4096 + 32000) + 4 * 4096);
}

TEST(Eagle3, TheFirstLayerSeesTwiceTheWidth) {
  const ModelSpec one = Build(DenseConfig("LlamaForCausalLMEagle3", 16, 24, 1, 4, 2, 130));
  EXPECT_EQ(RowNamed(one, "midlayer.self_attn.q_proj")->shape, (Shape{16, 32}));
  EXPECT_EQ(RowNamed(one, "lm_head.weight")->shape, (Shape{130, 16}));
  EXPECT_EQ(RowNamed(one, "fc")->shape, (Shape{16, 48}));
  const ModelSpec two = Build(DenseConfig("Eagle3LlamaForCausalLM", 16, 24, 2, 4, 2, 130));
  int first = 0;
  for (const ModuleRow& row : two.table.rows) {
    if (row.name != "layers.{L}.self_attn.q_proj") continue;
    EXPECT_EQ(row.shape.dims[1], row.layers.Contains(0) ? 32 : 16);
    ++first;
  }
  EXPECT_EQ(first, 2);
}

TEST(Eagle3, HeadsThatTakeTheLastHiddenStateAlone) {
  nlohmann::json config = DenseConfig("LlamaForCausalLMEagle3", 16, 24, 1, 4, 2, 130);
  config["eagle_config"] = {{"use_aux_hidden_state", false}};
  EXPECT_EQ(RowNamed(Build(config), "fc"), nullptr);
}

// Whatever it calls itself, where it is loaded for the method.
TEST(Eagle3, AHeadThatIsAskedFor) {
  Assumptions head;
  head.draft_method = "eagle3";
  const ModelSpec spec = Build(DenseConfig("LlamaForCausalLM", 16, 24, 1, 4, 2, 130), head);
  EXPECT_EQ(spec.arch.family, "eagle3");
  EXPECT_EQ(spec.arch.name, "Eagle3LlamaForCausalLM");
}

// Without a vocabulary of its own it is a plain Llama.
TEST(Eagle3, LlamaStaysLlama) {
  EXPECT_EQ(Build(DenseConfig("LlamaForCausalLM", 16, 24, 1, 4, 2, 130)).arch.family, "dense");
}

// Published heads leave the embedding out, where it is their target's: without a list of tensors
// there is none, with one there may be.
TEST(Eagle3, TheEmbeddingIsLeftOut) {
  const nlohmann::json config = DenseConfig("LlamaForCausalLMEagle3", 16, 24, 1, 4, 2, 130);
  const char* name = "embed_tokens.weight";
  EXPECT_EQ(RowNamed(Build(config), name), nullptr);
  EXPECT_NE(RowNamed(Build(With(config, {{"target_hidden_size", 32}})), name), nullptr);
  Inventory listed;
  listed.has_index = true;
  const auto spec = BuildModelSpec(config.dump(), "config.json", {}, "", "", &listed);
  ASSERT_TRUE(spec.has_value());
  ASSERT_NE(RowNamed(*spec, name), nullptr);
  EXPECT_TRUE(RowNamed(*spec, name)->optional);
}

TEST(Eagle3, NormsAndHiddenStatesByTheConfig) {
  nlohmann::json config = DenseConfig("LlamaForCausalLMEagle3", 16, 24, 1, 4, 2, 130);
  config["num_aux_hidden_states"] = 4;
  config["norm_before_fc"] = true;
  const ModelSpec one = Build(config);
  EXPECT_EQ(RowNamed(one, "fc")->shape, (Shape{16, 64}));
  EXPECT_EQ(RowNamed(one, "input_norm.weight")->shape, (Shape{64}));
  EXPECT_EQ(RowNamed(one, "fc_norm.0.weight"), nullptr);
  config.erase("norm_before_fc");
  config.erase("num_aux_hidden_states");
  config["fc_norm"] = true;
  config["eagle_config"] = {{"eagle_aux_hidden_state_layer_ids", {1, 2}}};
  const ModelSpec each = Build(config);
  EXPECT_EQ(RowNamed(each, "fc_norm.1.weight")->shape, (Shape{16}));
  EXPECT_EQ(RowNamed(each, "fc_norm.2.weight"), nullptr);
  EXPECT_EQ(RowNamed(each, "fc")->shape, (Shape{16, 32}));
}

// As the files name it.
TEST(Eagle3, OneLayerMayHaveANumber) {
  const nlohmann::json config = DenseConfig("LlamaForCausalLMEagle3", 16, 24, 1, 4, 2, 130);
  Assumptions numbered;
  numbered.numbered_draft_layers = true;
  const ModelSpec spec = Build(config, numbered);
  ASSERT_NE(RowNamed(spec, "layers.{L}.self_attn.q_proj"), nullptr);
  EXPECT_EQ(RowNamed(spec, "layers.{L}.self_attn.q_proj")->shape, (Shape{16, 32}));
  EXPECT_EQ(RowNamed(spec, "midlayer.self_attn.q_proj"), nullptr);
}

}  // namespace
}  // namespace shardplan
