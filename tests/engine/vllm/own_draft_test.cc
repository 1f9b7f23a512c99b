#include "engine/vllm/own_draft.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/vllm/speculative_config.h"
#include "shardplan/checkpoint/inventory.h"
#include "support/example_model.h"
#include "support/tiny_drafts.h"
#include "support/tiny_models.h"

namespace shardplan::vllm {
namespace {

using ::testing::Contains;
using ::testing::Not;
using testing_support::Build;
using testing_support::DenseConfig;
using testing_support::With;

// The names of the rows that the drafter keeps, or the error.
std::vector<std::string> RowsOf(const nlohmann::json& draft, const std::string& json,
                                bool listed = false, int64_t pp = 1,
                                std::vector<Finding>* findings = nullptr) {
  const ModelSpec target = Build(testing_support::TinyDense());
  // With a list of tensors, what published files leave out may be there.
  Inventory inventory;
  inventory.has_index = listed;
  const ModelSpec source = *BuildModelSpec(draft.dump(), "config.json", {}, "", "", &inventory);
  ParallelSizes sizes;
  sizes.pp = pp;
  std::vector<Finding> unused;
  const auto made = MakeOwnDraft(*ParseSpeculation(json),
                                 {&target.arch, &source.arch, &source.table, false, true}, sizes,
                                 findings ? findings : &unused);
  if (!made) return {made.error().ToString()};
  std::vector<std::string> names;
  for (const ModuleRow& row : (*made)->table.rows) names.push_back(row.name);
  return names;
}

constexpr const char* kEmbedding = "embed_tokens.weight";
constexpr const char* kOnLastStage = "model.embed_tokens.weight";
constexpr const char* kHead = "lm_head.weight";

TEST(MakeOwnDraft, AnEaglesEmbeddingIsTheTargets) {
  constexpr const char* kEagle = R"({"method": "eagle", "model": "x"})";
  const nlohmann::json head = testing_support::TinyEagle();
  EXPECT_THAT(RowsOf(head, kEagle), Not(Contains(kEmbedding)));
  EXPECT_THAT(RowsOf(head, kEagle, /*listed=*/true), Not(Contains(kEmbedding)));
  EXPECT_THAT(RowsOf(head, kEagle, /*listed=*/true, /*pp=*/2), Contains(kEmbedding));
}

TEST(MakeOwnDraft, OfOtherHeadsAStoredOneIsKept) {
  constexpr const char* kEagle3 = R"({"method": "eagle3", "model": "x"})";
  const nlohmann::json head =
      With(testing_support::TinyEagle3(), {{"architectures", {"LlamaForCausalLMEagle3"}}});
  EXPECT_THAT(RowsOf(head, kEagle3), Not(Contains(kEmbedding)));
  EXPECT_THAT(RowsOf(head, kEagle3, /*listed=*/true), Contains(kEmbedding));
  EXPECT_THAT(RowsOf(head, kEagle3), Contains(kHead));
}

// Kimi-K2's heads store a copy of the target's, and those of the speculators format say whether
// theirs was trained.
TEST(MakeOwnDraft, AFrozenCopyIsTheTargets) {
  constexpr const char* kEagle3 = R"({"method": "eagle3", "model": "x"})";
  for (const nlohmann::json& head :
       {testing_support::TinyEagle3Mla(), testing_support::TinySpeculators()}) {
    for (const bool listed : {false, true}) {
      EXPECT_THAT(RowsOf(head, kEagle3, listed), Not(Contains(kEmbedding)));
      EXPECT_THAT(RowsOf(head, kEagle3, listed, /*pp=*/2), Contains(kEmbedding));
    }
  }
  const nlohmann::json trained =
      With(testing_support::TinySpeculators(), {{"embed_requires_grad", true}});
  EXPECT_THAT(RowsOf(trained, kEagle3), Contains(kEmbedding));
}

// Where nothing is stored the last of several stages still needs a table to look guesses up in.
TEST(MakeOwnDraft, StagesNeedAnEmbedding) {
  constexpr const char* kDspark = R"({"method": "dspark", "model": "x"})";
  const nlohmann::json draft = testing_support::TinyKimiK3Dspark();
  EXPECT_THAT(RowsOf(draft, kDspark), Not(Contains(kOnLastStage)));
  EXPECT_THAT(RowsOf(draft, kDspark, false, 2), Contains(kOnLastStage));
  EXPECT_THAT(
      RowsOf(testing_support::TinyMedusa(), R"({"method": "medusa", "model": "x"})", false, 2),
      Not(Contains(kOnLastStage)));
}

TEST(MakeOwnDraft, TheHeadOfABlockDraft) {
  constexpr const char* kDflash = R"({"method": "dflash", "model": "x"})";
  const nlohmann::json draft = testing_support::TinyDflash();
  EXPECT_THAT(RowsOf(draft, kDflash), Not(Contains(kHead)));
  EXPECT_THAT(RowsOf(draft, kDflash), Not(Contains("d2t")));
  const nlohmann::json pruned = With(draft, {{"draft_vocab_size", 100}});
  EXPECT_THAT(RowsOf(pruned, kDflash), Contains(kHead));
  EXPECT_THAT(RowsOf(pruned, kDflash), Contains("d2t"));
}

TEST(MakeOwnDraft, MedusaHasAHeadForEveryToken) {
  ModelSpec target = Build(testing_support::TinyDense());
  target.arch.vocabulary = 200;
  const ModelSpec source = Build(testing_support::TinyMedusa());
  std::vector<Finding> findings;
  const auto made = MakeOwnDraft(
      *ParseSpeculation(R"({"method": "medusa", "model": "x", "num_speculative_tokens": 2})"),
      {&target.arch, &source.arch, &source.table, false, true}, {}, &findings);
  ASSERT_TRUE(made.has_value());
  for (const ModuleRow& row : (*made)->table.rows) {
    EXPECT_EQ(row.blocks, 2);
    EXPECT_EQ(row.shape, row.role == Role::kHead ? (Shape{200, 32}) : (Shape{32, 32}));
  }
}

TEST(MakeOwnDraft, WordsOfAWholeModelAreTheTargets) {
  std::vector<Finding> findings;
  const nlohmann::json other = DenseConfig("LlamaForCausalLM", 16, 24, 2, 4, 2, 200);
  RowsOf(other, R"({"model": "x"})", false, 1, &findings);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].id, "speculative.vocabulary");
  EXPECT_EQ(findings[0].message,
            "Target and draft model should have the same vocabulary size. Target model "
            "vocab_size=130. Draft model vocab_size=200.");
  findings.clear();
  RowsOf(other, R"({"model": "x", "use_heterogeneous_vocab": true})", false, 1, &findings);
  EXPECT_TRUE(findings.empty());
}

TEST(MakeOwnDraft, Refusals) {
  EXPECT_EQ(RowsOf(testing_support::TinyMixtral(), R"({"method": "eagle", "model": "x"})")[0],
            "--speculative-config: eagle of class MixtralForCausalLM is not modelled; EAGLE heads "
            "of Llama's shape, EAGLE-3 heads of Llama's or DeepSeek's, Medusa heads, DFlash and "
            "DSpark drafts of Qwen3's layers, Kimi-K3's DSpark and whole draft models are");
  const ModelSpec target = Build(testing_support::TinyDeepseekV4());
  const ModelSpec source = Build(testing_support::TinyDflash());
  std::vector<Finding> findings;
  const auto made =
      MakeOwnDraft(*ParseSpeculation(R"({"method": "dflash", "model": "x"})"),
                   {&target.arch, &source.arch, &source.table, false, true}, {}, &findings);
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().ToString(),
            "--speculative-config: dflash for DeepseekV4ForCausalLM is not modelled: how vLLM "
            "groups a draft's cache with compressed ones is not known here; the model's own MTP "
            "layers, or no speculation");
}

TEST(MethodRefusal, SaysWhatIsMissing) {
  EXPECT_EQ(MethodRefusal("mlp_speculator")->ToString(),
            "--speculative-config: method mlp_speculator is not modelled: vLLM's registry has had "
            "no class for it since the V1 engine; an EAGLE-3 head, MTP layers or a draft model");
  EXPECT_TRUE(MethodRefusal("custom_class").has_value());
  EXPECT_TRUE(MethodRefusal("extract_hidden_states").has_value());
  EXPECT_FALSE(MethodRefusal("eagle").has_value());
}

}  // namespace
}  // namespace shardplan::vllm
