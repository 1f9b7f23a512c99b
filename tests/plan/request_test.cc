#include "plan/request.h"

#include <gtest/gtest.h>

#include "support/plan_world.h"

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

}  // namespace
}  // namespace shardplan
