#include "engine/vllm/draft_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/vllm/speculative_config.h"
#include "support/example_model.h"
#include "support/tiny_drafts.h"
#include "support/tiny_models.h"

namespace shardplan::vllm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing_support::Build;
using testing_support::With;

// A draft for a target of 32 wide, 130 words and 5 layers.
class DraftFit : public ::testing::Test {
 protected:
  // "severity id" of what is said; "error: …" where there is no drafter.
  std::vector<std::string> Told(const nlohmann::json& draft, const std::string& method,
                                const std::string& more = "") {
    const ModelSpec target = Build(target_);
    Assumptions assumptions;
    assumptions.draft_method = method;
    const ModelSpec source = Build(draft, assumptions);
    const std::string json = R"({"model": "x", "num_speculative_tokens": 2)" +
                             (method.empty() ? "" : R"(, "method": ")" + method + "\"") + more +
                             "}";
    findings_.clear();
    const auto made =
        MakeDraft(*ParseSpeculation(json), {&target.arch, &source.arch, &source.table, false, true},
                  {}, &findings_);
    if (!made) return {"error: " + made.error().ToString()};
    std::vector<std::string> told;
    for (const Finding& f : findings_) {
      EXPECT_EQ(f.subject, "--speculative-config");
      told.push_back(std::string(ToString(f.severity)) + " " + f.id);
    }
    return told;
  }

  nlohmann::json target_ = testing_support::TinyDense();
  std::vector<Finding> findings_;
};

TEST_F(DraftFit, TheMethodOfAShape) {
  EXPECT_EQ(MethodOfShape(Build(testing_support::TinyEagle()).arch), "eagle");
  EXPECT_EQ(MethodOfShape(Build(testing_support::TinyEagle3Mla()).arch), "eagle3");
  EXPECT_EQ(MethodOfShape(Build(testing_support::TinyDflash()).arch), "dflash");
  EXPECT_EQ(MethodOfShape(Build(testing_support::TinyQwen3Dspark()).arch), "dspark");
  EXPECT_EQ(MethodOfShape(Build(testing_support::TinyMedusa()).arch), "medusa");
  EXPECT_EQ(MethodOfShape(Build(testing_support::TinyDense()).arch), "draft_model");
}

// Every kind of draft for the target that it was made for.
TEST_F(DraftFit, DraftsThatFit) {
  namespace t = testing_support;
  const std::pair<nlohmann::json, const char*> fitting[] = {
      {t::TinyEagle(), "eagle"},         {t::TinyEagle3(), "eagle3"},
      {t::TinyEagle3Mla(), "eagle3"},    {t::TinySpeculators(), "eagle3"},
      {t::TinyDflash(), "dflash"},       {t::TinyQwen3Dspark(), "dspark"},
      {t::TinyKimiK3Dspark(), "dspark"}, {t::TinyMedusa(), "medusa"},
      {t::TinyDense(), "draft_model"}};
  for (const auto& [draft, method] : fitting) {
    EXPECT_THAT(Told(draft, method), IsEmpty()) << draft.dump();
  }
}

// Hidden states of another width meet a matrix that was not made for them.
TEST_F(DraftFit, AnotherWidthIsAnError) {
  namespace t = testing_support;
  target_ = t::DenseConfig("LlamaForCausalLM", 48, 64, 5, 8, 2, 130);
  target_["head_dim"] = 6;
  const std::pair<nlohmann::json, const char*> drafts[] = {
      {t::TinyEagle(), "eagle"},        {t::TinyEagle3(), "eagle3"},
      {t::TinyEagle3Mla(), "eagle3"},   {t::TinyDflash(), "dflash"},
      {t::TinyQwen3Dspark(), "dspark"}, {t::TinyKimiK3Dspark(), "dspark"},
      {t::TinyMedusa(), "medusa"}};
  for (const auto& [draft, method] : drafts) {
    EXPECT_THAT(Told(draft, method), ElementsAre("error speculative.hidden_size")) << method;
    EXPECT_EQ(
        findings_[0].message,
        "the draft takes hidden states of 32, and LlamaForCausalLM has 48: vLLM compares them "
        "nowhere and fails when it drafts first (mat1 and mat2 shapes cannot be multiplied)");
  }
}

// A draft of its own width needs a matrix between, and words of its own.
TEST_F(DraftFit, ItsOwnWidth) {
  namespace t = testing_support;
  const nlohmann::json narrow =
      With(t::TinyEagle3(), {{"hidden_size", 16}, {"target_hidden_size", 32}});
  EXPECT_THAT(Told(narrow, "eagle3"), IsEmpty());
  EXPECT_THAT(Told(With(narrow, {{"eagle_config", {{"use_aux_hidden_state", false}}}}), "eagle3"),
              ElementsAre("error speculative.hidden_size"));
  EXPECT_THAT(findings_[0].message,
              HasSubstr("is 16 wide and takes the target's last hidden state"));
  // Kimi-K3's takes its target's words in any case.
  EXPECT_THAT(Told(With(t::TinyKimiK3Dspark(), {{"hidden_size", 16}, {"target_hidden_size", 32}}),
                   "dspark"),
              ElementsAre("error speculative.hidden_size"));
  EXPECT_THAT(
      findings_[0].message,
      HasSubstr("takes the target's embedding, which is 32 wide: vLLM compares them nowhere "
                "and fails when it drafts first (hidden_states and input_embeds must have "
                "the same last dimension)"));
}

TEST_F(DraftFit, LayersThatTheTargetHasNot) {
  namespace t = testing_support;
  // Counted from the embedding: the last of five is 5.
  const auto eagle3 = [&](const nlohmann::json& layers) {
    return Told(With(t::TinyEagle3(), {{"eagle_aux_hidden_state_layer_ids", layers}}), "eagle3");
  };
  EXPECT_THAT(eagle3({0, 3, 5}), IsEmpty());
  EXPECT_THAT(eagle3({2, 30, 57}), ElementsAre("error speculative.target_layers"));
  EXPECT_EQ(
      findings_[0].message,
      "the draft takes hidden states after layers 2, 30, 57, and LlamaForCausalLM has 5: vLLM "
      "checks it nowhere, collects those that are there and fails when it drafts first (mat1 "
      "and mat2 shapes cannot be multiplied)");
  // Block drafts count from one less.
  const auto block = [&](const nlohmann::json& layers) {
    return Told(With(t::TinyDflash(), {{"dflash_config", {{"target_layer_ids", layers}}}}),
                "dflash");
  };
  EXPECT_THAT(block({-1, 2, 4}), IsEmpty());
  EXPECT_THAT(block({1, 2, 5}), ElementsAre("error speculative.target_layers"));
  EXPECT_THAT(Told(With(t::TinyQwen3Dspark(),
                        {{"dflash_config", nullptr}, {"target_layer_ids", {1, 2, 5}}}),
                   "dspark"),
              ElementsAre("error speculative.target_layers"));
}

// vLLM counts matrices by one key and takes layers by another.
TEST_F(DraftFit, AsManyLayersAsAreJoined) {
  namespace t = testing_support;
  EXPECT_THAT(
      Told(With(t::TinyEagle3(), {{"eagle_aux_hidden_state_layer_ids", {1, 2, 3, 4}}}), "eagle3"),
      ElementsAre("error speculative.target_layers"));
  EXPECT_THAT(findings_[0].message, HasSubstr("joins 3 hidden states of the target, and its config "
                                              "names 4 layers"));
  EXPECT_THAT(Told(With(t::TinyEagle3(), {{"eagle_aux_hidden_state_layer_ids", {1, 2, 3, 4}},
                                          {"num_aux_hidden_states", 4}}),
                   "eagle3"),
              IsEmpty());
  EXPECT_THAT(Told(With(t::TinyEagle3(), {{"num_aux_hidden_states", 4}}), "eagle3"),
              ElementsAre("error speculative.target_layers"));
}

TEST_F(DraftFit, WordsThatTheTargetHasNot) {
  namespace t = testing_support;
  const nlohmann::json more = {{"vocab_size", 200}};
  for (const auto& [draft, method] :
       {std::pair<nlohmann::json, const char*>{t::TinyEagle3(), "eagle3"},
        {t::TinyEagle3Mla(), "eagle3"},
        {t::TinyDflash(), "dflash"},
        {t::TinyQwen3Dspark(), "dspark"},
        {t::TinyMedusa(), "medusa"}}) {
    EXPECT_THAT(Told(With(draft, more), method), ElementsAre("warning speculative.vocabulary"))
        << method;
    EXPECT_THAT(findings_[0].message, HasSubstr("assumed")) << method;
  }
  EXPECT_THAT(Told(With(t::TinyEagle(), more), "eagle"), IsEmpty());
  EXPECT_THAT(Told(With(t::TinyEagle3(), {{"draft_vocab_size", 131}}), "eagle3"),
              ElementsAre("error speculative.vocabulary"));
  EXPECT_EQ(findings_[0].message,
            "the draft's draft_vocab_size 131 is above its own vocab_size 130: its logits have no "
            "place for the rest, and vLLM fails when it drafts first (an index out of bounds)");
  // A Medusa head that says nothing, or has a table of fewer words, takes the target's.
  nlohmann::json old = t::TinyMedusa();
  old.erase("vocab_size");
  EXPECT_THAT(Told(old, "medusa"), IsEmpty());
  EXPECT_THAT(Told(With(t::TinyMedusa(), {{"truncated_vocab_size", 64}}), "medusa"), IsEmpty());
}

TEST_F(DraftFit, TheMethodOfAnotherKind) {
  namespace t = testing_support;
  EXPECT_THAT(Told(t::TinyEagle3(), "medusa"), ElementsAre("error speculative.method"));
  EXPECT_THAT(findings_[0].message,
              HasSubstr("'Following weights were not initialized from checkpoint'"));
  EXPECT_THAT(Told(t::DenseConfig("LlamaForCausalLM", 32, 64, 16, 8, 2, 130), "eagle3"),
              ElementsAre("warning speculative.method"));
  EXPECT_EQ(
      findings_[0].message,
      "method eagle3, and LlamaForCausalLM of 16 layers looks like a whole model: vLLM builds "
      "Eagle3LlamaForCausalLM of its config, and fails on tensors of any other ('There is no "
      "module or parameter named …')");
  EXPECT_THAT(
      Told(t::TinyDflash(), "draft_model"),
      ElementsAre("error: --speculative-config: method draft_model, and the draft's class is "
                  "DFlashDraftModel: vLLM hands a draft model no hidden states of the "
                  "target, which this needs, and fails in its first dummy run; \"method\": "
                  "\"dflash\""));
  EXPECT_THAT(
      Told(t::TinyDense(), "dspark"),
      ElementsAre(HasSubstr("vLLM takes drafts of other classes than DSpark's for the stages "
                            "inside DeepSeek-V4's own files")));
  EXPECT_THAT(Told(t::TinyDflash(), "dspark"), ElementsAre(HasSubstr("\"method\": \"dflash\"")));
}

// Without one, and with a path that doesn't tell, vLLM takes all but a few classes for whole
// models.
TEST_F(DraftFit, NoMethod) {
  namespace t = testing_support;
  EXPECT_THAT(Told(t::TinyEagle3(), ""), ElementsAre("error speculative.method"));
  EXPECT_EQ(findings_[0].fix, R"("method": "eagle3")");
  EXPECT_THAT(Told(t::TinyDflash(), ""), ElementsAre("error speculative.method"));
  EXPECT_THAT(Told(t::TinyQwen3Dspark(), ""), IsEmpty());
  EXPECT_THAT(Told(t::TinyMedusa(), ""), IsEmpty());
  EXPECT_THAT(Told(t::TinyDense(), ""), IsEmpty());
}

}  // namespace
}  // namespace shardplan::vllm
