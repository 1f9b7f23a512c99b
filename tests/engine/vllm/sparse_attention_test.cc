#include "engine/vllm/sparse_attention.h"

#include <gtest/gtest.h>

#include "shardplan/base/units.h"
#include "support/vllm_context.h"

namespace shardplan {
namespace {

using testing_support::VllmContext;

TEST(SparseAttention, NothingWithoutAnIndexer) {
  VllmContext c("deepseek-v3");
  c.Resolve();
  EXPECT_EQ(vllm::SparseWorkspace(c.context), 0);
  EXPECT_EQ(vllm::SparseAttentionPhase(c.context, 12345), 12345);
}

// Forty windows of one FP8 key and its scale: what a shorter window saves.
TEST(SparseAttention, TheWorkspaceFollowsTheWindow) {
  VllmContext c("deepseek-ai__DeepSeek-V3.2");
  c.context.sizes.tp = 8;
  c.Resolve();
  EXPECT_EQ(vllm::SparseWorkspace(c.context), 40 * 163'840LL * 132);
  c.context.settings.max_model_len = 16'384;
  c.Resolve();
  EXPECT_EQ(vllm::SparseWorkspace(c.context), 40 * 16'384LL * 132);
}

TEST(SparseAttention, ScoresOfTheDummyBatchAreAsBigAsAllowed) {
  VllmContext c("zai-org__GLM-5");
  c.context.sizes.tp = 8;
  c.context.settings.max_num_batched_tokens = 1024;
  c.Resolve();
  EXPECT_EQ(vllm::SparseAttentionPhase(c.context, 1000), 1000 + 512 * kMiB + 3 * 1024 * 32 * 128);
}

// Eight heads a rank are computed as 64, and 65 to 128 as 128.
TEST(SparseAttention, DeepseekV4PadsItsHeads) {
  VllmContext c("deepseek-ai__DeepSeek-V4-Pro");
  c.context.settings.max_num_batched_tokens = 1024;
  const auto phase = [&](int64_t tp) {
    c.context.sizes.tp = tp;
    c.Resolve();
    return vllm::SparseAttentionPhase(c.context, 0);
  };
  constexpr int64_t kRow = 2 * 1024 * 512;
  EXPECT_EQ(phase(1) - phase(2), 2 * 64 * kRow);
  EXPECT_EQ(phase(4) - phase(2), 32 * kRow);  // the unpadded copy of 32 heads
}

}  // namespace
}  // namespace shardplan
