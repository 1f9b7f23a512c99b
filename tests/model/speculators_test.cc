#include "model/speculators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/example_model.h"
#include "support/tiny_drafts.h"

namespace shardplan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::Build;
using testing_support::BuildError;
using testing_support::TinySpeculators;
using testing_support::With;

// The parts that vLLM moves: RedHatAI/gemma-4-31B-it-speculator.eagle3 has this shape.
TEST(Speculators, AnEagle3Head) {
  const ModelSpec spec = Build(TinySpeculators());
  EXPECT_EQ(spec.arch.family, "eagle3");
  EXPECT_EQ(spec.arch.name, "Eagle3LlamaForCausalLM");
  EXPECT_EQ(spec.arch.draft.words, 100);
  EXPECT_EQ(spec.arch.draft.target_hidden, 32);
  EXPECT_THAT(spec.arch.draft.target_layers, ElementsAre(1, 2, 3));
  EXPECT_EQ(spec.arch.draft.verifier, "org/verifier");
  EXPECT_EQ(spec.arch.draft.method, "eagle3");
  EXPECT_EQ(spec.arch.draft.tokens, 3);
  // Layers have numbers, and the embedding is stored, whole and frozen.
  bool numbered = false, frozen = false;
  for (const ModuleRow& row : spec.table.rows) {
    numbered |= row.name == "layers.{L}.self_attn.q_proj" && row.shape == (Shape{64, 64});
    frozen |= row.name == "embed_tokens.weight" && row.frozen_copy && !row.left_out;
  }
  EXPECT_TRUE(numbered);
  EXPECT_TRUE(frozen);
}

// Loaded for a method, the class stays the one that the format stands for.
TEST(Speculators, TheMethodChangesNoClass) {
  Assumptions head;
  head.draft_method = "eagle3";
  nlohmann::json config = TinySpeculators();
  config["transformer_layer_config"]["model_type"] = "qwen3";
  const ModelSpec spec = Build(config, head);
  EXPECT_EQ(spec.arch.name, "Eagle3Qwen3ForCausalLM");
  EXPECT_TRUE(spec.arch.draft.named.empty());
  bool norm = false;
  for (const ModuleRow& row : spec.table.rows)
    norm |= row.name == "layers.{L}.self_attn.q_norm.weight";
  EXPECT_TRUE(norm);
  config["speculators_model_type"] = "peagle";
  EXPECT_EQ(Build(config).arch.name, "PeagleQwen3ForCausalLM");
  EXPECT_EQ(Build(config).arch.draft.method, "eagle3");
}

TEST(Speculators, BlockDrafts) {
  nlohmann::json config = TinySpeculators();
  config["speculators_model_type"] = "dflash";
  config["aux_hidden_state_layer_ids"] = {1, 2, 3, 4};
  config["mask_token_id"] = 7;
  const ModelSpec dflash = Build(config);
  EXPECT_EQ(dflash.arch.family, "dflash");
  EXPECT_EQ(dflash.arch.draft.joined, 4);
  EXPECT_THAT(dflash.arch.draft.target_layers, ElementsAre(1, 2, 3, 4));
  config["speculators_model_type"] = "dspark";
  config["markov_rank"] = 6;
  EXPECT_EQ(Build(config).arch.name, "Qwen3DSparkModel");
  config.erase("aux_hidden_state_layer_ids");
  EXPECT_THAT(BuildError(config),
              HasSubstr("aux_hidden_state_layer_ids: expected the target's layers that it sees, "
                        "which a draft of this kind needs"));
}

TEST(Speculators, MedusaHeads) {
  const ModelSpec spec = Build({{"speculators_model_type", "medusa"},
                                {"hidden_size", 32},
                                {"vocab_size", 130},
                                {"truncated_vocab_size", 0},
                                {"num_heads", 3},
                                {"num_hidden_layers", 2}});
  EXPECT_EQ(spec.arch.family, "medusa");
  EXPECT_EQ(spec.arch.mtp_layers, 3);
  EXPECT_EQ(spec.arch.draft.words, 130);
  EXPECT_TRUE(spec.arch.draft.verifier.empty());
}

TEST(Speculators, Refusals) {
  nlohmann::json config = TinySpeculators();
  config["transformer_layer_config"]["model_type"] = "gemma3";
  EXPECT_EQ(BuildError(config),
            "config.json: transformer_layer_config.model_type: vLLM would say: Unsupported "
            "model_type gemma3 for Eagle3 speculator");
  EXPECT_EQ(BuildError(With(TinySpeculators(), {{"speculators_model_type", "hass"}})),
            "config.json: speculators_model_type hass: expected one of eagle3, peagle, dflash, "
            "medusa, dspark; vLLM reads no others");
  EXPECT_NE(BuildError(With(TinySpeculators(), {{"transformer_layer_config", 3}})), "built");
  EXPECT_NE(BuildError(With(TinySpeculators(), {{"transformer_layer_config", nullptr}})), "built");
}

// Whatever stands where the format has objects and lists.
TEST(Speculators, OddFilesAreNoUse) {
  for (const nlohmann::json& use :
       {nlohmann::json(3), nlohmann::json::array({1}), nlohmann::json({{"verifier", "x"}}),
        nlohmann::json({{"proposal_methods", {3}}}),
        nlohmann::json({{"proposal_methods", {{{"speculative_tokens", -1}}}}})}) {
    nlohmann::json config = TinySpeculators();
    config["speculators_config"] = use;
    const DraftShape draft = Build(config).arch.draft;
    EXPECT_TRUE(draft.verifier.empty()) << use.dump();
    EXPECT_EQ(draft.tokens, 0) << use.dump();
  }
  EXPECT_FALSE(IsSpeculators({{"speculators_model_type", 3}}));
  EXPECT_FALSE(IsSpeculators(nlohmann::json::array()));
}

}  // namespace
}  // namespace shardplan
