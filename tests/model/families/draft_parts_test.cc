#include "model/families/draft_parts.h"

#include <gtest/gtest.h>

#include "support/example_model.h"
#include "support/model_rows.h"
#include "support/tiny_drafts.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::BuildError;
using testing_support::RowNamed;
using testing_support::TinyDflash;
using testing_support::TinyQwen3Dspark;
using testing_support::With;

// Three hidden states where the config names three layers, one for each layer of the draft where it
// names none, in any of the places that vLLM looks at.
TEST(DraftParts, HiddenStatesThatFcJoins) {
  EXPECT_EQ(RowNamed(Build(TinyDflash()), "fc")->shape, (Shape{32, 3 * 32}));
  nlohmann::json config = TinyDflash();
  config.erase("dflash_config");
  EXPECT_EQ(RowNamed(Build(config), "fc")->shape, (Shape{32, 2 * 32}));
  config["target_layer_ids"] = {1, 3, 5, 7};
  config["target_hidden_size"] = 48;
  EXPECT_EQ(RowNamed(Build(config), "fc")->shape, (Shape{32, 4 * 48}));
  config["eagle_config"] = {{"use_aux_hidden_state", false}};
  EXPECT_EQ(RowNamed(Build(config), "fc"), nullptr);
}

TEST(DraftParts, WindowsByLayerOrForAll) {
  using enum AttentionKind;
  const auto kinds = [](const nlohmann::json& changes) {
    return Build(With(TinyDflash(), changes)).arch.attention;
  };
  EXPECT_EQ(kinds(nlohmann::json::object()), (std::vector{kFull, kFull}));
  EXPECT_EQ(
      kinds({{"layer_types", {"sliding_attention", "full_attention"}}, {"sliding_window", 16}}),
      (std::vector{kSliding, kFull}));
  EXPECT_EQ(kinds({{"dflash_config", {{"use_swa", true}, {"swa_window_size", 16}}}}),
            (std::vector{kSliding, kSliding}));
  EXPECT_EQ(
      Build(With(TinyDflash(), {{"dflash_config", {{"use_swa", true}, {"swa_window_size", 16}}}}))
          .arch.window,
      16);
  EXPECT_EQ(BuildError(With(TinyDflash(), {{"layer_types", {"full_attention"}}})),
            "config.json: layer_types: expected one entry a layer");
}

// The keys and values of every layer once more, and a mask that no file needs to have.
TEST(DraftParts, WhatTheEngineMakesItself) {
  const ModelSpec spec = Build(TinyDflash());
  for (const char* name :
       {"mask_embedding", "layers.{L}.fused_k_weight", "layers.{L}.fused_v_weight"}) {
    ASSERT_NE(RowNamed(spec, name), nullptr) << name;
    EXPECT_FALSE(RowNamed(spec, name)->stored) << name;
  }
  EXPECT_EQ(RowNamed(spec, "layers.{L}.fused_k_weight")->shape, (Shape{2 * 8, 32}));
}

TEST(DraftParts, SinksOfEveryHead) {
  const char* name = "layers.{L}.self_attn.attention_sink_bias";
  EXPECT_EQ(RowNamed(Build(TinyDflash()), name), nullptr);
  const ModelSpec spec =
      Build(With(TinyDflash(), {{"dflash_config", {{"attention_sink_bias", true}}}}));
  EXPECT_EQ(RowNamed(spec, name)->shape, (Shape{8}));
}

// Rows of the second matrix are padded as a head's are; the estimate is fp32 on the card.
TEST(DraftParts, MarkovAndConfidence) {
  const ModelSpec spec = Build(TinyQwen3Dspark());
  EXPECT_EQ(RowNamed(spec, "markov_head.markov_w1.weight")->shape, (Shape{130, 6}));
  EXPECT_EQ(*RowNamed(spec, "markov_head.markov_w2.weight")->device_shape, (Shape{192, 6}));
  EXPECT_EQ(RowNamed(spec, "confidence_head.proj.weight")->shape, (Shape{1, 38}));
  EXPECT_EQ(RowNamed(spec, "confidence_head.proj.bias")->device_dtype, DType::kF32);
  const ModelSpec plain = Build(With(TinyQwen3Dspark(), {{"enable_confidence_head", false}}));
  EXPECT_EQ(RowNamed(plain, "confidence_head.proj.weight"), nullptr);
}

// In the order in which vLLM looks for them; those that count layers stand for the state after.
TEST(DraftParts, LayersOfTheTarget) {
  const auto layers = [](const nlohmann::json& config) {
    ConfigReader reader(config, "config.json");
    std::vector<int64_t> out = families::ReadTargetLayers(reader);
    EXPECT_TRUE(reader.ok());
    return out;
  };
  using Layers = std::vector<int64_t>;
  EXPECT_EQ(layers({{"hidden_size", 3}}), Layers());
  EXPECT_EQ(layers({{"target_layer_ids", {1, 4}}}), (Layers{2, 5}));
  EXPECT_EQ(layers({{"dspark_target_layer_ids", {-1, 4}}, {"target_layer_ids", {1}}}),
            (Layers{0, 5}));
  EXPECT_EQ(layers({{"dflash_config", {{"target_layer_ids", {3}}}}, {"target_layer_ids", {1}}}),
            Layers{4});
  EXPECT_EQ(layers({{"eagle_aux_hidden_state_layer_ids", {2}},
                    {"dflash_config", {{"target_layer_ids", {3}}}}}),
            Layers{2});
  EXPECT_EQ(layers({{"eagle_config", {{"eagle_aux_hidden_state_layer_ids", {1, 2}}}}}),
            (Layers{1, 2}));
}

}  // namespace
}  // namespace shardplan
