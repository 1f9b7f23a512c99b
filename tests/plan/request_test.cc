#include "plan/request.h"

#include <gtest/gtest.h>

#include "support/plan_world.h"
#include "support/temp_dir.h"
#include "support/tiny_checkpoint.h"
#include "support/tiny_drafts.h"
#include "support/tiny_models.h"

namespace shardplan {
namespace {

using testing_support::Cards;

TEST(Request, CardsAsTheRequestHasThem) {
  const GpuSpec gpu = *Cards().FindGpu("h20-96");
  Deployment d;
  EXPECT_EQ(CardOf(gpu, d)->cuda_visible.source, gpu.cuda_visible.source);
  EXPECT_EQ(CardsPerNode(gpu, d), 8);
  d.gpus_per_node = 4;
  EXPECT_EQ(CardsPerNode(gpu, d), 4);
  d.gpu_memory_total = Bytes(int64_t{90} << 30);
  EXPECT_EQ(CardOf(gpu, d)->cuda_visible.bytes.central, *d.gpu_memory_total);
  EXPECT_EQ(CardOf(gpu, d)->cuda_visible.basis, Basis::kMeasured);
  d.gpu_memory_in_use = Bytes(int64_t{91} << 30);
  EXPECT_FALSE(CardOf(gpu, d));
  d.gpu_memory_in_use = Bytes();
  d.gpu_memory_total = Bytes(int64_t{100} << 30);
  EXPECT_FALSE(CardOf(gpu, d));
}

TEST(Request, TokensLieInsideTheWindow) {
  Deployment d;
  d.output_tokens = 100;
  EXPECT_TRUE(CheckTokens(d, 101));
  EXPECT_FALSE(CheckTokens(d, 100));
  d.output_tokens.reset();
  d.typical_tokens = 100;
  EXPECT_TRUE(CheckTokens(d, 100));
  EXPECT_FALSE(CheckTokens(d, 99));
}

TEST(Request, ForeignOptionsAreOneFinding) {
  std::vector<Finding> findings;
  NoteForeignOptions({}, "vLLM", "SGLang", &findings);
  EXPECT_TRUE(findings.empty());
  NoteForeignOptions({"--b", "--a", "--b"}, "vLLM", "SGLang", &findings);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].subject, "--a, --b");
  EXPECT_EQ(findings[0].message, "vLLM's: without effect on SGLang");
}

TEST(Request, DraftsHaveToBeHere) {
  const auto draft = LoadDraftModel("--draft", "/nowhere");
  ASSERT_FALSE(draft.has_value());
  EXPECT_EQ(draft.error().code, ErrorCode::kUsage);
  EXPECT_TRUE(
      LoadDraftModel("--draft", testing_support::ExampleConfigPath("dense-70b")).has_value());
}

// An engine reads a directory, never a config.json.
TEST(Request, ADraftNamedByItsFileIsServedFromItsDirectory) {
  const std::string file = testing_support::ExampleConfigPath("dense-70b");
  const std::string directory = file.substr(0, file.rfind('/'));
  const auto draft = LoadDraftModel("--draft", file);
  ASSERT_TRUE(draft.has_value());
  EngineSettings settings;
  ServeDraftDirectory(directory, **draft, &settings);
  EXPECT_FALSE(settings.served_draft);
  ServeDraftDirectory(file, **draft, &settings);
  EXPECT_EQ(settings.served_draft, directory);
  settings.served_draft = "/models/draft";
  ServeDraftDirectory(file, **draft, &settings);
  EXPECT_EQ(settings.served_draft, "/models/draft");
}

using testing_support::TempDir;
using testing_support::WriteTiny;

// Files of another kind than the method's: what vLLM builds of their config, they don't fill.
TEST(Request, DraftsOfAnotherKind) {
  const TempDir dir;
  const auto error = [&](const nlohmann::json& config, const char* name, const char* method) {
    WriteTiny(config, dir.Path(name));
    const auto draft = LoadDraftModel("--draft", dir.Path(name), method);
    return draft ? "loaded" : draft.error().ToString();
  };
  EXPECT_EQ(error(testing_support::TinyDense(), "whole", "eagle3"),
            "--draft: method eagle3, and the draft's class is LlamaForCausalLM: vLLM builds "
            "Eagle3LlamaForCausalLM out of its config, and fails on its tensors ('There is no "
            "module or parameter named …'); \"method\": \"draft_model\"");
  EXPECT_EQ(error(testing_support::TinyDflash(), "dflash", "eagle3"),
            "--draft: method eagle3, and the draft's class is DFlashDraftModel: vLLM builds "
            "Eagle3DFlashDraftModel out of its config, which its files don't fill; \"method\": "
            "\"dflash\"");
  EXPECT_EQ(error(testing_support::TinyEagle3(), "eagle3", "eagle3"), "loaded");
  // What is wrong with the files themselves stays said of them.
  testing_support::WriteText(dir.Path("whole/config.json"), "{");
  EXPECT_EQ(LoadDraftModel("--draft", dir.Path("whole"), "eagle3").error().subject,
            dir.Path("whole/config.json"));
}

TEST(Request, ADraftIsNotServed) {
  const TempDir dir;
  testing_support::WriteText(dir.Path("config.json"), testing_support::TinySpeculators().dump());
  Result<Model> model = LoadModel(dir.Path("config.json"));
  ASSERT_TRUE(model.has_value()) << model.error().ToString();
  model->source = "RedHatAI/m-speculator.eagle3";
  const Status status = CheckServed(*model, "vllm");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(status.error().ToString(),
            "RedHatAI/m-speculator.eagle3: is a draft in the speculators format, not a model to "
            "serve: vLLM serves the verifier that it names (org/verifier), and this as its draft; "
            "plan org/verifier with --speculative-config '{\"method\": \"eagle3\", \"model\": "
            "\"RedHatAI/m-speculator.eagle3\", \"num_speculative_tokens\": 3}'");
  EXPECT_EQ(CheckServed(*model, "sglang").error().ToString(),
            "RedHatAI/m-speculator.eagle3: is a draft in the speculators format, not a model to "
            "serve");
  EXPECT_TRUE(CheckServed(testing_support::ExampleFromConfig("dense-70b"), "vllm"));
}

}  // namespace
}  // namespace shardplan
