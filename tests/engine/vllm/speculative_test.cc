#include "engine/vllm/speculative.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/vllm/kv_cache.h"
#include "engine/vllm/speculative_config.h"
#include "support/tiny_drafts.h"
#include "support/tiny_families.h"
#include "support/tiny_models.h"
#include "support/vllm_context.h"

namespace shardplan::vllm {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing_support::Build;
using testing_support::VllmContext;
using testing_support::With;

// A model, its drafter and a context with both.
class Speculative : public ::testing::Test {
 protected:
  // "" or the error.
  std::string Try(const nlohmann::json& config, const std::string& json, int64_t tp = 1,
                  int64_t pp = 1, const nlohmann::json& head = {},
                  const Assumptions& assumptions = {}) {
    context_ = std::make_unique<VllmContext>(Build(config, assumptions), version_);
    if (!head.is_null()) {
      Assumptions of_head;
      of_head.draft_method = ParseSpeculation(json)->method;
      head_ = Build(head, of_head);
    }
    const ModelSpec& source = head.is_null() ? context_->spec() : head_;
    Context& c = context_->context;
    c.sizes.tp = tp;
    c.sizes.pp = pp;
    c.settings.speculation = *ParseSpeculation(json);
    findings_.clear();
    auto draft =
        MakeDraft(*c.settings.speculation,
                  {&context_->spec().arch, &source.arch, &source.table, false, !head.is_null()},
                  c.sizes, &findings_);
    if (!draft) return draft.error().ToString();
    draft_ = std::move(*draft);
    c.draft = draft_ ? &*draft_ : nullptr;
    context_->Resolve();
    return "";
  }
  const Context& context() const { return context_->context; }
  std::vector<std::string> Ids() const {
    std::vector<std::string> ids;
    for (const Finding& finding : findings_) ids.push_back(finding.id);
    for (const Finding& finding : context_->findings) ids.push_back(finding.id);
    return ids;
  }

  std::string version_;  // empty: the newest
  std::unique_ptr<VllmContext> context_;
  ModelSpec head_;
  std::optional<Draft> draft_;
  std::vector<Finding> findings_;
};

constexpr const char* kMtp = R"({"method": "mtp", "num_speculative_tokens": 1})";

// GLM's MTP layer at TP 2, number by number: 32 wide, 8 heads of 8 on 2 KV heads, 12 experts of 24.
int64_t TinyGlmDraftOnRank() {
  const int64_t fusion = 32 + 32 + 32 * 64 + 32;  // enorm, hnorm, eh_proj, head's norm
  const int64_t attention =
      (32 + 8 + 8) * 33 + 32 * 32 + 8 + 8;  // qkv and biases, o, q and k norms
  const int64_t shared = 2 * 12 * 32 + 32 * 12;
  const int64_t experts = 12 * (2 * 12 * 32 + 32 * 12);
  const int64_t norms = 2 * 32;
  const int64_t router = 12 * 32 + 12;  // fp32, on every rank
  return (fusion + attention + shared + experts + norms) * 2 + router * 4;
}

TEST_F(Speculative, MtpLayersAreWeightsOfTheLastStage) {
  ASSERT_EQ(Try(testing_support::TinyGlm4Moe(), kMtp, 2), "");
  EXPECT_THAT(Ids(), IsEmpty());
  const DraftOnRank placed = PlaceDraft(context(), 0);
  EXPECT_EQ(placed.parameters.count(), TinyGlmDraftOnRank());
  // Nothing of it is among the model's own.
  EXPECT_EQ(context_->Weights().StageBytes({0, 4}, true, true), [&] {
    VllmContext plain(Build(testing_support::TinyGlm4Moe()));
    plain.context.sizes.tp = 2;
    plain.Resolve();
    return plain.Weights().StageBytes({0, 4}, true, true);
  }());
  EXPECT_EQ(draft_->NameOf("eh_proj.weight", 0), "model.layers.4.eh_proj.weight");
}

// With stages the drafter has an embedding, of 130 rows padded to 192; the head stays the model's.
TEST_F(Speculative, WithStagesTheDrafterHasAnEmbedding) {
  ASSERT_EQ(Try(testing_support::TinyGlm4Moe(), kMtp, 2, 2), "");
  EXPECT_THAT(Ids(), IsEmpty());
  EXPECT_EQ(PlaceDraft(context(), 0).parameters.count(), TinyGlmDraftOnRank() + 192 / 2 * 32 * 2);
  Assumptions shared;
  shared.mtp_embed = false;
  ASSERT_EQ(Try(testing_support::TinyGlm4Moe(), kMtp, 2, 2, {}, shared), "");
  EXPECT_THAT(Ids(), ElementsAre("speculative.embedding"));
  EXPECT_EQ(PlaceDraft(context(), 0).parameters.count(), TinyGlmDraftOnRank() + 192 / 2 * 32 * 2);
}

// Beside its parameters: four scales of its attention layer; the rotary table is the model's.
TEST_F(Speculative, BuffersOfTheDrafterAlone) {
  ASSERT_EQ(Try(testing_support::TinyGlm4Moe(), kMtp, 2), "");
  const DraftOnRank placed = PlaceDraft(context(), 0);
  ASSERT_THAT(placed.buffers, SizeIs(1));
  EXPECT_EQ(placed.buffers[0].name, "drafter: attention scales");
  EXPECT_EQ(placed.buffers[0].bytes, Bytes(16));
  const std::vector<ExtraBytes> kept = DrafterBuffers(context());
  ASSERT_THAT(kept, SizeIs(1));
  EXPECT_EQ(kept[0].bytes, Bytes(context().resolved.max_num_batched_tokens * 32 * 2));
}

// DeepSeek-V3's layer in FP8 with a scale for each 128 × 128, number by number at TP 8.
TEST_F(Speculative, DeepseekV3) {
  ASSERT_EQ(Try(testing_support::ExampleConfig("deepseek-v3"), kMtp, 8), "");
  const DraftOnRank placed = PlaceDraft(context(), 0);
  const int64_t h = 7168;
  const auto fp8 = [](int64_t out, int64_t in, int64_t scale_rows) {
    return out * in + scale_rows * ((in + 127) / 128) * 4;
  };
  const int64_t experts = 256 * (fp8(512, h, 4) + fp8(h, 256, 56));
  const int64_t attention = fp8(1536 + 576, h, 12 + 5) + fp8(3072, 1536, 24) +
                            fp8(16 * 256, 512, 32) + fp8(h, 2048, 56) + (1536 + 512) * 2;
  const int64_t shared = fp8(512, h, 4) + fp8(h, 256, 56);
  const int64_t plain = h * 2 * h * 2 + 256 * h * 2 + 256 * 4 + 5 * h * 2;
  EXPECT_EQ(placed.parameters.count(), experts + attention + shared + plain);
  EXPECT_EQ(context().resolved.draft_layers, std::vector<AttentionKind>{AttentionKind::kMla});
  // kv_b_proj of 16 heads is dequantized once, as in the model's layers; so are scales doubled.
  ASSERT_THAT(placed.post_load, SizeIs(2));
  EXPECT_EQ(placed.post_load[0].name, "drafter: W_UK_T, W_UV");
  EXPECT_EQ(placed.post_load[0].bytes, Bytes(512 * 16 * (128 + 128) * 2));
  EXPECT_EQ(placed.post_load[1].bytes, Bytes(256 * (4 * 56 + 56 * 2) * 4));
}

TEST_F(Speculative, LayersOfEveryFamily) {
  using testing_support::TinyDeepseekV4;
  const std::pair<nlohmann::json, std::vector<AttentionKind>> cases[] = {
      {testing_support::TinyGlm4Moe(), {AttentionKind::kFull}},
      {testing_support::TinyDeepseek(), {AttentionKind::kMla}},
      {testing_support::TinyDeepseekSparse(), {AttentionKind::kMla}},
      {TinyDeepseekV4(), {AttentionKind::kMla}},
      {With(TinyDeepseekV4(), {{"num_nextn_predict_layers", 2}}),
       {AttentionKind::kMla, AttentionKind::kMla}},
      {testing_support::TinyQwen3Next(), {AttentionKind::kFull}},
      {testing_support::TinyNemotronH(), {AttentionKind::kFull}}};
  for (const auto& [config, kinds] : cases) {
    SCOPED_TRACE(config["architectures"].dump());
    ASSERT_EQ(Try(config, R"({"method": "mtp", "num_speculative_tokens": 2})"), "");
    EXPECT_EQ(context().resolved.draft_layers, kinds);
    EXPECT_EQ(context().resolved.draft_tokens, 2);
    EXPECT_GT(PlaceDraft(context(), 0).parameters, Bytes());
    EXPECT_THAT(CheckDraft(context()), IsEmpty());
    // Every stored parameter but the copies of embedding and head is on the card at TP 1.
    Bytes stored;
    for (const ModuleRow& row : context_->spec().table.rows) {
      if (row.role != Role::kDraft || row.split == Split::kVocabulary) continue;
      for (const StoredTensor& tensor : StoredTensors(row)) {
        stored += *SizeOf(tensor.dtype, tensor.shape) * row.Count();
      }
    }
    EXPECT_GE(PlaceDraft(context(), 0).parameters * 102, stored * 100);
  }
}

TEST_F(Speculative, CachesGrowByTheDraftsLayers) {
  ASSERT_EQ(Try(testing_support::TinyGlm4Moe(), kMtp), "");
  const KvLayout with = MakeKvLayout(context());
  context_->context.resolved.draft_layers.clear();
  const KvLayout without = MakeKvLayout(context());
  EXPECT_EQ(with.bytes_per_block[0], Bytes(without.bytes_per_block[0].count() / 4 * 5));
  ASSERT_EQ(Try(testing_support::TinyDeepseekV4(), kMtp), "");
  const size_t windows = CollectCaches(context(), AlignBlocks(context())).front().layers.size();
  context_->context.resolved.draft_layers.clear();
  EXPECT_EQ(CollectCaches(context(), AlignBlocks(context())).front().layers.size() + 1, windows);
}

TEST_F(Speculative, WhatVllmWouldRefuse) {
  Assumptions none;
  none.mtp = false;
  ASSERT_EQ(Try(testing_support::TinyGlm4Moe(), kMtp, 1, 1, {}, none), "");
  EXPECT_FALSE(draft_.has_value());
  EXPECT_THAT(Ids(), ElementsAre("speculative.mtp_absent"));
  EXPECT_EQ(findings_[0].message,
            "the config announces 1 multi-token-prediction layer(s), the checkpoint stores none: "
            "vLLM fails to load the drafter");
  ASSERT_EQ(Try(testing_support::TinyMixtral(), kMtp), "");
  EXPECT_EQ(findings_[0].message,
            "method mtp, and MixtralForCausalLM has no multi-token-prediction layer");
  ASSERT_EQ(Try(With(testing_support::TinyGlm4Moe(), {{"num_nextn_predict_layers", 2}}),
                R"({"method": "mtp", "num_speculative_tokens": 3})"),
            "");
  EXPECT_EQ(findings_[0].message, "num_speculative_tokens:3 must be divisible by n_predict=2");
  ASSERT_EQ(Try(testing_support::TinyGlm4Moe(),
                R"({"method": "mtp", "draft_tensor_parallel_size": 2})", 4),
            "");
  EXPECT_THAT(Ids(), ElementsAre("speculative.draft_tp"));
  ASSERT_EQ(Try(testing_support::TinyGlm4Moe(), R"({"method": "ngram"})"), "");
  EXPECT_THAT(Ids(), ElementsAre("speculative.tokens"));
}

// One MTP layer: one token where none are asked for.
TEST_F(Speculative, TokensAreTheConfigsWhereNoneAreGiven) {
  ASSERT_EQ(Try(testing_support::TinyGlm4Moe(), R"({"method": "deepseek_mtp"})"), "");
  EXPECT_EQ(context().resolved.draft_tokens, 1);
}

// A guess out of the prompt has no weights, and keeps the first runner and one batch at a time.
TEST_F(Speculative, NgramHasNoWeights) {
  ASSERT_EQ(
      Try(testing_support::TinyDense(), R"({"method": "ngram", "num_speculative_tokens": 4})"), "");
  EXPECT_FALSE(draft_.has_value());
  EXPECT_EQ(context().resolved.draft_tokens, 4);
  EXPECT_FALSE(context().resolved.v2_runner);
  EXPECT_EQ(context().resolved.in_flight_tokens, context().resolved.max_num_batched_tokens);
  EXPECT_THAT(DrafterBuffers(context()), IsEmpty());
}

// As deep as its tree, where no number is given.
TEST_F(Speculative, SuffixesGuessAsDeepAsTheirTree) {
  ASSERT_EQ(Try(testing_support::TinyDense(), R"({"method": "suffix"})"), "");
  EXPECT_EQ(context().resolved.draft_tokens, 24);
  ASSERT_EQ(Try(testing_support::TinyDense(),
                R"({"method": "suffix", "suffix_decoding_max_tree_depth": 8})"),
            "");
  EXPECT_EQ(context().resolved.draft_tokens, 8);
}

TEST_F(Speculative, AMethodThatAPathOutweighs) {
  ASSERT_EQ(Try(testing_support::TinyDense(),
                R"({"method": "medusa", "model": "eagle3", "num_speculative_tokens": 3})", 1, 1,
                testing_support::TinyEagle3()),
            "");
  EXPECT_THAT(Ids(), ElementsAre("speculative.method"));
  EXPECT_EQ(context_->findings[0].message,
            "method medusa, and the draft's path tells vLLM eagle3, which it takes");
}

TEST_F(Speculative, WhatIsNotModelled) {
  EXPECT_EQ(Try(testing_support::TinyDense(),
                R"({"method": "mlp_speculator", "model": "x", "num_speculative_tokens": 1})"),
            "--speculative-config: method mlp_speculator is not modelled: vLLM's registry has had "
            "no class for it since the V1 engine; an EAGLE-3 head, MTP layers or a draft model");
  EXPECT_EQ(
      Try(testing_support::TinyDense(), R"({"method": "eagle3", "num_speculative_tokens": 1})"),
      "--speculative-config: method eagle3 needs a model, found none; \"model\": a directory "
      "or config.json of the draft");
  EXPECT_EQ(
      Try(testing_support::TinyDense(), R"({"method": "dspark", "num_speculative_tokens": 1})"),
      "--speculative-config: the DSpark stages inside a model's own checkpoint are not modelled: "
      "no published list of their tensors is known here; \"model\": a directory or config.json of "
      "a DSpark draft");
  EXPECT_EQ(
      Try(testing_support::TinyDense(),
          R"({"method": "dflash", "model": "x", "num_speculative_tokens": 1})", 1, 1,
          testing_support::TinyDense()),
      "--speculative-config: method dflash, and the draft's class is LlamaForCausalLM: vLLM looks "
      "for DFlashLlamaForCausalLM, and would say: Model architectures "
      "['DFlashLlamaForCausalLM'] are not supported for now; \"method\": \"draft_model\"");
}

nlohmann::json TinyHead() {
  return With(testing_support::DenseConfig("LlamaForCausalLM", 16, 24, 1, 4, 2, 130),
              {{"draft_vocab_size", 100}, {"target_hidden_size", 32}});
}

// At TP 2, number by number; the vocabulary of 100 is padded to 128. Narrower than its target, it
// needs an embedding of its own: 130 rows padded to 192.
TEST_F(Speculative, Eagle3Head) {
  constexpr const char* kHead =
      R"({"method": "eagle3", "model": "x", "num_speculative_tokens": 3})";
  ASSERT_EQ(Try(testing_support::TinyDense(), kHead, 2, 1, TinyHead()), "");
  EXPECT_THAT(Ids(), IsEmpty());
  const int64_t layer = (8 + 4 + 4) * 32 + 16 * 8 + 2 * 12 * 16 + 16 * 12 + 3 * 16;
  const int64_t rest = 16 * 3 * 32 + 16 + 128 / 2 * 16 + 192 / 2 * 16;
  const int64_t words = 100 * 8;  // which words of the target they are, on every rank
  const DraftOnRank placed = PlaceDraft(context(), 0);
  EXPECT_EQ(placed.parameters.count(), (layer + rest) * 2 + words);
  ASSERT_EQ(Try(testing_support::TinyDense(), kHead, 2, 5, TinyHead()), "");
  EXPECT_EQ(PlaceDraft(context(), 0).parameters.count(), (layer + rest) * 2 + words);
}

// Drafts of every kind at TP 2, number by number, for a target of 32 wide and 130 words: the
// embedding is the target's, words are padded to a multiple of 64.
TEST_F(Speculative, EveryKindOfDraft) {
  namespace t = testing_support;
  const int64_t gqa = (4 + 1 + 1) * 8 * 32 + 32 * 32;
  const int64_t mlp = 2 * 32 * 32 + 32 * 32;
  const auto mla = [](int64_t in) {
    return (24 + 20) * in + 24 + 16 + 4 * 12 * 24 + 4 * 16 * 16 + 32 * 32;
  };
  const int64_t dflash = 2 * (gqa + 2 * 8 + 2 * 8 * 32 + mlp + 2 * 32) + 32 * 96 + 32 + 2 * 32;
  const int64_t markov = (130 + 192) * 6;
  struct Case {
    nlohmann::json config;
    const char* method;
    int64_t bytes;
  };
  const Case cases[] = {
      {t::TinyEagle(), "eagle", (2 * (gqa + mlp + 32) + 32 + 32 * 64) * 2},
      {t::TinyEagle3Mla(), "eagle3",
       (mla(64) + mlp + 3 * 32 + 32 * 96 + 32 + 64 * 32) * 2 + 100 * 8},
      {t::TinyEagle3Mla(2), "eagle3",
       (mla(64) + mla(32) + 2 * (mlp + 3 * 32) + 32 * 96 + 32 + 64 * 32) * 2 + 100 * 8},
      {t::TinyDflash(), "dflash", dflash * 2},
      {t::TinyQwen3Dspark(), "dspark", (dflash + markov) * 2 + (38 + 1) * 4},
      {t::TinyKimiK3Dspark(), "dspark",
       (2 * (mla(32) + mlp + 2 * 32) + 32 * 96 + 2 * 32 + 2 * 20 * 32 + markov) * 2},
      {t::TinyMedusa(), "medusa", 2 * (2 * 32 * 32 + 96 * 32) * 2}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.config["architectures"].dump());
    const std::string json =
        std::string(R"({"model": "x", "num_speculative_tokens": 2, "method": ")") + c.method +
        "\"}";
    ASSERT_EQ(Try(testing_support::TinyDense(), json, 2, 1, c.config), "");
    EXPECT_THAT(Ids(), IsEmpty());
    EXPECT_THAT(CheckDraft(context()), IsEmpty());
    EXPECT_EQ(PlaceDraft(context(), 0).parameters.count(), c.bytes);
    EXPECT_EQ(DrafterBuffers(context()).empty(), std::string(c.method) == "medusa");
  }
}

// MiMo-V2's first MTP layer: dense, with the heads of the sliding layers, and a window for a cache.
TEST_F(Speculative, MtpOfMimoV2) {
  ASSERT_EQ(Try(testing_support::TinyMimoV2Flash(), kMtp, 2), "");
  EXPECT_THAT(Ids(), IsEmpty());
  const int64_t attention = (4 * 8 + 2 * (8 + 8)) * 32 + 32 * 4 * 8 + 4;
  const int64_t mlp = 2 * 32 * 32 + 32 * 32;
  EXPECT_EQ(PlaceDraft(context(), 0).parameters.count(), (attention + mlp + 32 * 64 + 5 * 32) * 2);
  EXPECT_EQ(context().resolved.draft_layers, std::vector<AttentionKind>{AttentionKind::kSliding});
  EXPECT_EQ(draft_->NameOf("eh_proj.weight", 0), "model.mtp.layers.0.eh_proj.weight");
  const auto windows = [&] {
    size_t layers = 0;
    for (const KvBucket& bucket : CollectCaches(context(), AlignBlocks(context()))) {
      if (bucket.spec.kind == KvKind::kSliding) layers += bucket.layers.size();
    }
    return layers;
  };
  EXPECT_EQ(windows(), 4U);
}

// Five latent layers beside Kimi-K3's 24 make groups of 29, and 18 layers of padding for the 69
// that keep states: the 26.09 % that vllm-ascend #14314 reports.
TEST_F(Speculative, KimiK3sGroupsGrowByTheDraft) {
  ASSERT_EQ(Try(testing_support::ExampleConfig("kimi-k3"),
                R"({"method": "dspark", "model": "x", "num_speculative_tokens": 7})", 8, 1,
                With(testing_support::TinyKimiK3Dspark(),
                     {{"num_hidden_layers", 5}, {"kv_lora_rank", 512}, {"qk_rope_head_dim", 64}})),
            "");
  const KvLayout layout = MakeKvLayout(context());
  int64_t padding = 0, states = 0;
  for (const KvGroup& group : layout.groups) {
    if (group.spec().kind != KvKind::kState) {
      EXPECT_EQ(group.caches(), 29);
      continue;
    }
    padding += 29 - group.caches();
    states += group.caches();
  }
  EXPECT_EQ(states, 69);
  EXPECT_EQ(padding, 18);
}

// A draft of latent attention beside another latent cache adds layers to it; Llama's has pages of
// its own.
TEST_F(Speculative, AHeadForALatentModel) {
  constexpr const char* kHead =
      R"({"method": "eagle3", "model": "x", "num_speculative_tokens": 3})";
  ASSERT_EQ(
      Try(testing_support::TinyDeepseek(), kHead, 2, 1,
          With(testing_support::TinyEagle3Mla(), {{"kv_lora_rank", 16}, {"qk_rope_head_dim", 4}})),
      "");
  size_t layers = 0;
  for (const KvBucket& bucket : CollectCaches(context(), AlignBlocks(context()))) {
    EXPECT_EQ(bucket.spec.kind, KvKind::kLatent);
    layers += bucket.layers.size();
  }
  EXPECT_EQ(layers, 6U);
  ASSERT_EQ(Try(testing_support::TinyDeepseek(), kHead, 2, 1, TinyHead()), "");
  const KvLayout layout = MakeKvLayout(context());
  EXPECT_EQ(layout.arrangement, KvArrangement::kOneGroup);
  EXPECT_EQ(CollectCaches(context(), AlignBlocks(context())).back().spec.kind, KvKind::kFull);
}

// Hidden states of layers in the middle don't cross stages before 0.29; from then on a target may
// hand them on. Up to 0.15 nothing is said to work with stages.
TEST_F(Speculative, DraftsAcrossStages) {
  const auto severities = [&](const char* version, const nlohmann::json& draft, const char* json) {
    version_ = version;
    EXPECT_EQ(Try(testing_support::TinyDense(), json, 1, 2, draft), "");
    std::string out;
    for (const Finding& finding : context_->findings) {
      if (finding.id == "speculative.pipeline") out += ToString(finding.severity);
    }
    version_.clear();
    return out;
  };
  constexpr const char* kDflash =
      R"({"method": "dflash", "model": "x", "num_speculative_tokens": 3})";
  constexpr const char* kEagle =
      R"({"method": "eagle", "model": "x", "num_speculative_tokens": 3})";
  const nlohmann::json dflash = testing_support::TinyDflash();
  const nlohmann::json eagle = testing_support::TinyEagle();
  EXPECT_EQ(severities("0.28.0", dflash, kDflash), "error");
  EXPECT_EQ(severities("0.29.0", dflash, kDflash), "warning");
  EXPECT_EQ(severities("0.15.0", eagle, kEagle), "warning");
  EXPECT_EQ(severities("0.16.0", eagle, kEagle), "");
}

// Which runner a draft decides: the second alone has DSpark, the first alone draft models.
TEST_F(Speculative, TheRunnerThatADraftNeeds) {
  const auto second = [&](const char* version, const nlohmann::json& draft, const char* method,
                          int64_t pp = 1) {
    version_ = version;
    const std::string json =
        std::string(R"({"model": "x", "num_speculative_tokens": 3, "method": ")") + method + "\"}";
    EXPECT_EQ(Try(testing_support::TinyMixtral(), json, 1, pp, draft), "");
    version_.clear();
    return context().resolved.v2_runner;
  };
  namespace t = testing_support;
  const nlohmann::json mixed =
      With(t::TinyDflash(),
           {{"layer_types", {"sliding_attention", "full_attention"}}, {"sliding_window", 16}});
  EXPECT_TRUE(second("0.28.0", t::TinyQwen3Dspark(), "dspark"));
  EXPECT_FALSE(second("0.28.0", t::TinyDflash(), "dflash"));
  EXPECT_TRUE(second("0.28.0", mixed, "dflash"));
  EXPECT_FALSE(second("0.31.0", t::TinyMedusa(), "medusa"));
  EXPECT_FALSE(second("0.31.0", t::TinyDense(), "draft_model"));
  EXPECT_TRUE(second("0.31.0", t::TinyEagle(), "eagle"));
}

// Its cache is its own: a head of 4 on one of two KV heads, next to one of the model's 4.
TEST_F(Speculative, ADraftModelsCacheHasItsOwnHeads) {
  ASSERT_EQ(Try(testing_support::TinyDense(),
                R"({"method": "eagle3", "model": "x", "num_speculative_tokens": 3})", 2, 1,
                With(TinyHead(), {{"head_dim", 8}})),
            "");
  const std::vector<KvBucket> caches = CollectCaches(context(), AlignBlocks(context()));
  ASSERT_THAT(caches, SizeIs(2));
  EXPECT_THAT(caches[1].layers, ElementsAre(4));
  EXPECT_EQ(caches[0].spec.page, Bytes(2 * 4 * 2 * 16));
  EXPECT_EQ(caches[1].spec.page, Bytes(2 * 8 * 2 * 16));
}

// A whole model, with embedding and head; it runs in the target's group.
TEST_F(Speculative, DraftModel) {
  constexpr const char* kModel = R"({"model": "x", "num_speculative_tokens": 3})";
  const nlohmann::json small =
      testing_support::DenseConfig("LlamaForCausalLM", 16, 24, 2, 4, 2, 130);
  ASSERT_EQ(Try(testing_support::TinyDense(), kModel, 2, 1, small), "");
  const int64_t layer = (8 + 4 + 4) * 16 + 16 * 8 + 2 * 12 * 16 + 16 * 12 + 2 * 16;
  EXPECT_EQ(PlaceDraft(context(), 0).parameters.count(), (2 * layer + 2 * (192 / 2 * 16) + 16) * 2);
  ASSERT_EQ(Try(testing_support::TinyDense(),
                R"({"model": "x", "num_speculative_tokens": 3, "draft_tensor_parallel_size": 1})",
                2, 1, small),
            "");
  EXPECT_THAT(Ids(), ElementsAre("speculative.draft_tp"));
}

TEST_F(Speculative, ADraftThatTheLayoutCannotDivide) {
  ASSERT_EQ(Try(testing_support::TinyDense(),
                R"({"method": "eagle3", "model": "x", "num_speculative_tokens": 3})", 8, 1,
                With(TinyHead(), {{"intermediate_size", 20}})),
            "");
  const std::vector<Finding> findings = CheckDraft(context());
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].id, "speculative.sharding");
}

// 1,024 requests with three guesses each, against 130 words in fp32.
TEST_F(Speculative, VerificationBeyondThePeak) {
  ASSERT_EQ(
      Try(testing_support::TinyDense(), R"({"method": "ngram", "num_speculative_tokens": 3})"), "");
  Context& c = context_->context;
  c.resolved.max_num_seqs = 1024;
  c.resolved.max_num_batched_tokens = 8192;
  EXPECT_EQ(VerifiedRows(c), 4096);
  const int64_t copy = 4096 * 130 * 4;
  const auto beyond = [&](Bytes counted) {
    const Range range = VerificationBeyond(c, counted);
    return std::vector<Bytes>{range.low, range.central, range.high};
  };
  EXPECT_THAT(beyond(Bytes()),
              ElementsAre(Bytes(copy * 3 / 2), Bytes(copy * 5 / 2), Bytes(copy * 4)));
  EXPECT_THAT(beyond(Bytes(copy * 3)), ElementsAre(Bytes(), Bytes(), Bytes(copy)));
  c.resolved.max_num_batched_tokens = 2048;
  EXPECT_EQ(VerifiedRows(c), 2048);
  c.resolved.draft_tokens = 0;
  EXPECT_THAT(beyond(Bytes()), ElementsAre(Bytes(), Bytes(), Bytes()));
}

}  // namespace
}  // namespace shardplan::vllm
