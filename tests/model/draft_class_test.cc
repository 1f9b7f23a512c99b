#include "model/draft_class.h"

#include <gtest/gtest.h>

namespace shardplan {
namespace {

TEST(DraftClass, EagleStandsBeforeTheNameOfTheModel) {
  EXPECT_EQ(DraftClass("eagle", "LlamaForCausalLM", "llama"), "EagleLlamaForCausalLM");
  EXPECT_EQ(DraftClass("eagle", "LlamaForCausalLMEagle", "llama"), "EagleLlamaForCausalLM");
  EXPECT_EQ(DraftClass("eagle", "EagleLlamaForCausalLM", "llama"), "EagleLlamaForCausalLM");
  EXPECT_EQ(DraftClass("eagle3", "LlamaForCausalLM", "llama"), "Eagle3LlamaForCausalLM");
  EXPECT_EQ(DraftClass("eagle3", "LlamaForCausalLMEagle3", "llama"), "LlamaForCausalLMEagle3");
  EXPECT_EQ(DraftClass("eagle3", "Eagle3DeepseekV2ForCausalLM", "deepseek_v3"),
            "Eagle3DeepseekV2ForCausalLM");
}

TEST(DraftClass, OtherMethods) {
  EXPECT_EQ(DraftClass("medusa", "", ""), "MedusaModel");
  EXPECT_EQ(DraftClass("medusa", "MedusaForCausalLM", "medusa"), "MedusaModel");
  EXPECT_EQ(DraftClass("dspark", "DSparkDraftModel", "qwen3"), "Qwen3DSparkModel");
  EXPECT_EQ(DraftClass("dspark", "DSparkDraftModel", "deepseek_v4"), "DSparkDraftModel");
  EXPECT_EQ(DraftClass("dflash", "DFlashDraftModel", "qwen3"), "DFlashDraftModel");
  EXPECT_EQ(DraftClass("draft_model", "LlamaForCausalLM", "llama"), "LlamaForCausalLM");
  EXPECT_EQ(DraftClass("", "LlamaForCausalLM", "llama"), "LlamaForCausalLM");
  EXPECT_EQ(DraftClass("eagle", "", "llama"), "");
}

}  // namespace
}  // namespace shardplan
