#include <gtest/gtest.h>

#include "engine/vllm/draft.h"
#include "engine/vllm/speculative.h"
#include "engine/vllm/speculative_config.h"
#include "shardplan/model/model.h"
#include "support/temp_dir.h"
#include "support/tiny_checkpoint.h"
#include "support/tiny_drafts.h"
#include "support/tiny_models.h"
#include "support/vllm_context.h"

namespace shardplan::vllm {
namespace {

namespace t = testing_support;
using testing_support::With;

// What a rank holds of the draft at `path`, at TP 2.
Bytes ParametersOf(const std::string& path, const std::string& method, int64_t pp) {
  Assumptions of_head;
  of_head.draft_method = method;
  const Result<Model> model = LoadModel(path, of_head);
  EXPECT_TRUE(model.has_value()) << model.error().ToString();
  if (!model) return Bytes();
  EXPECT_EQ(model->shape_basis == Basis::kExact, !path.ends_with(".json"));
  t::VllmContext world(t::Build(t::TinyDense()));
  Context& c = world.context;
  c.sizes.tp = 2;
  c.sizes.pp = pp;
  c.settings.speculation = *ParseSpeculation(
      R"({"model": "x", "num_speculative_tokens": 3, "method": ")" + method + "\"}");
  std::vector<Finding> findings;
  const auto draft =
      MakeDraft(*c.settings.speculation,
                {&world.spec().arch, &model->arch, &model->table, false, true}, c.sizes, &findings);
  EXPECT_TRUE(draft && *draft) << method;
  if (!draft || !*draft) return Bytes();
  c.draft = &**draft;
  world.Resolve();
  return PlaceDraft(c, 0).parameters;
}

nlohmann::json SpeculatorsDflash() {
  nlohmann::json config = t::TinySpeculators();
  config["speculators_model_type"] = "dflash";
  config["aux_hidden_state_layer_ids"] = {1, 2};
  return config;
}

// A draft's config alone and the checkpoint that stands in for it are the same draft.
TEST(DraftStandIn, IsTheDraft) {
  const std::pair<nlohmann::json, const char*> drafts[] = {
      {t::TinyEagle(), "eagle"},
      {With(t::TinyEagle(), {{"architectures", {"LlamaForCausalLM"}}}), "eagle"},
      {t::TinyEagle3(), "eagle3"},
      {t::TinyEagle3(2), "eagle3"},
      {With(t::TinyEagle3(), {{"hidden_size", 16}, {"target_hidden_size", 32}}), "eagle3"},
      {With(t::TinyEagle3(), {{"draft_vocab_size", 130}}), "eagle3"},
      {t::TinyEagle3Mla(), "eagle3"},
      {t::TinySpeculators(), "eagle3"},
      {With(t::TinySpeculators(), {{"embed_requires_grad", true}, {"norm_before_fc", true}}),
       "eagle3"},
      {t::TinyDflash(), "dflash"},
      {With(t::TinyDflash(), {{"draft_vocab_size", 100}}), "dflash"},
      {SpeculatorsDflash(), "dflash"},
      {t::TinyQwen3Dspark(), "dspark"},
      {t::TinyKimiK3Dspark(), "dspark"},
      {t::TinyMedusa(), "medusa"},
      {t::TinyDense(), "draft_model"}};
  for (const auto& [config, method] : drafts) {
    SCOPED_TRACE(config.dump());
    const t::TempDir dir;
    Assumptions of_head;
    of_head.draft_method = method;
    t::WriteText(dir.Path("config.json"), config.dump());
    t::WriteTiny(config, dir.Path("stand-in"), of_head);
    for (const int64_t pp : {1, 2}) {
      const Bytes alone = ParametersOf(dir.Path("config.json"), method, pp);
      EXPECT_GT(alone, Bytes());
      EXPECT_EQ(alone, ParametersOf(dir.Path("stand-in"), method, pp)) << "stages " << pp;
    }
  }
}

}  // namespace
}  // namespace shardplan::vllm
