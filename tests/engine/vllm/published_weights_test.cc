// What "Model loading took" says in public start-up logs, against what is computed.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "engine/vllm/weights.h"
#include "shardplan/base/units.h"
#include "support/vllm_context.h"

namespace shardplan {
namespace {

using testing_support::VllmContext;

// Parameters, buffers and post-load copies of a stage's rank, in GiB.
double Loaded(const VllmContext& c, size_t index = 0) {
  const StageRange& stage = c.context.stages[index];
  const DeviceWeights weights = c.Weights();
  Bytes total = weights.StageBytes(stage, index == 0, index + 1 == c.context.stages.size());
  for (const auto& extra : vllm::Buffers(c.context, stage, 0)) total += extra.bytes;
  for (const auto& extra : vllm::PostLoad(c.context, stage, weights)) total += extra.bytes;
  return InGiB(total).value();
}

// Kimi-K2.5 on eight H200, the tower on every rank whole (v0.15.1).
TEST(PublishedWeights, KimiK25WithAReplicatedTower) {
  VllmContext c("moonshotai__Kimi-K2.5");
  c.context.sizes.tp = 8;
  c.context.settings.mm_encoder_tp_mode = "data";
  c.Resolve();
  EXPECT_NEAR(Loaded(c), 71.92, 0.04);
  c.context.settings.mm_encoder_tp_mode = std::nullopt;
  c.Resolve();
  EXPECT_NEAR(Loaded(c), 71.22, 0.01);
}

// Kimi-K2.6 on sixteen H100 (v0.15.1): 31 layers, then 30; the tower, divided, on both.
TEST(PublishedWeights, KimiK26OnTwoStages) {
  VllmContext c("moonshotai__Kimi-K2.5");
  c.context.sizes.tp = 8;
  c.context.sizes.pp = 2;
  c.Resolve();
  EXPECT_NEAR(Loaded(c, 0), 35.83, 0.02);
  EXPECT_NEAR(Loaded(c, 1), 35.69, 0.02);
}

// GLM-5.1-FP8 on eight H200 (v0.19.1, 8,192 batched tokens). What is left is that version's
// rounding of allocations and workspaces of its attention backend.
TEST(PublishedWeights, Glm51Fp8) {
  VllmContext c("zai-org__GLM-5.1-FP8");
  c.context.sizes.tp = 8;
  c.Resolve();
  ASSERT_EQ(c.context.resolved.max_num_batched_tokens, 8192);
  EXPECT_NEAR(Loaded(c) / 89.34, 1.0, 0.003);
  EXPECT_LT(Loaded(c), 89.34);
}

// DeepSeek-V4-Flash on eight H100 with expert parallelism (v0.31.1, 8,192 batched tokens).
TEST(PublishedWeights, DeepseekV4Flash) {
  VllmContext c("deepseek-ai__DeepSeek-V4-Flash");
  c.context.sizes.tp = 8;
  c.context.sizes.expert_parallel = true;
  c.Resolve();
  EXPECT_NEAR(Loaded(c), 19.79, 0.05);
}

}  // namespace
}  // namespace shardplan
