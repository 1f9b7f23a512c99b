#include "engine/vllm/all2all.h"

#include <gtest/gtest.h>

#include <utility>

#include "engine/vllm/weights.h"
#include "shardplan/base/units.h"
#include "support/vllm_context.h"

namespace shardplan {
namespace {

using testing_support::VllmContext;

ParallelSizes Wide() {
  ParallelSizes sizes;
  sizes.tp = 1;
  sizes.dp = 8;
  sizes.expert_parallel = true;
  return sizes;
}

TEST(All2All, NamesAreChecked) {
  EXPECT_EQ(*vllm::ResolveAll2All(std::nullopt), "allgather_reducescatter");
  EXPECT_EQ(*vllm::ResolveAll2All("deepep_low_latency"), "deepep_low_latency");
  const auto wrong = vllm::ResolveAll2All("deepep_low_latencies");
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().code, ErrorCode::kUsage);
  EXPECT_NE(wrong.error().ToString().find("did you mean deepep_low_latency?"), std::string::npos)
      << wrong.error().ToString();
}

TEST(All2All, OnlyWhereExpertsAreElsewhere) {
  ParallelSizes sizes = Wide();
  EXPECT_TRUE(vllm::UsesAll2All(sizes));
  EXPECT_TRUE(vllm::TakesBatches("deepep_low_latency", sizes));
  EXPECT_TRUE(vllm::TakesBatches("nixl_ep", sizes));
  EXPECT_FALSE(vllm::TakesBatches("deepep_high_throughput", sizes));
  sizes.expert_parallel = false;
  EXPECT_FALSE(vllm::TakesBatches("deepep_low_latency", sizes));
  EXPECT_EQ(vllm::RoundedWidth("deepep_low_latency", sizes, 2880), 2880);
  sizes = Wide();
  sizes.dp = 1;
  EXPECT_FALSE(vllm::UsesAll2All(sizes));
}

TEST(All2All, WidthsAreWhatTheKernelsTake) {
  const ParallelSizes sizes = Wide();
  EXPECT_EQ(vllm::RoundedWidth("allgather_reducescatter", sizes, 2880), 2880);
  EXPECT_EQ(vllm::RoundedWidth("deepep_high_throughput", sizes, 2880), 3072);
  EXPECT_EQ(vllm::RoundedWidth("deepep_high_throughput", sizes, 7168), 7168);
  EXPECT_EQ(vllm::RoundedWidth("deepep_low_latency", sizes, 2880), 3072);
  EXPECT_EQ(vllm::RoundedWidth("deepep_low_latency", sizes, 3584), 4096);
  EXPECT_EQ(vllm::RoundedWidth("deepep_low_latency", sizes, 9216), 9216);
}

// Kimi's class splits sequences whatever the backend, but not with stages; its variable slices
// shared experts from 0.28.0 on.
TEST(All2All, KimiSlicesSharedExpertsWhereItIsAsked) {
  const auto resolved = [](const char* version, int64_t pp, const char* backend,
                           const char* value) -> std::pair<bool, bool> {
    VllmContext c("kimi-k3", version);
    c.context.sizes = {.tp = 8, .pp = pp, .dp = 4, .expert_parallel = true};
    if (*backend != '\0') c.context.settings.all2all_backend = backend;
    if (*value != '\0') c.context.settings.env = {{vllm::kSliceSharedVariable, value}};
    c.Resolve();
    EXPECT_EQ(vllm::RulesFor(c.context, 0).replicate_shared, c.context.resolved.replicate_shared);
    return {c.context.resolved.sequence_parallel, c.context.resolved.replicate_shared};
  };
  using Both = std::pair<bool, bool>;
  EXPECT_EQ(resolved("", 1, "", ""), Both(true, true));
  EXPECT_EQ(resolved("", 1, "deepep_v2", ""), Both(true, true));
  EXPECT_EQ(resolved("", 2, "", ""), Both(false, false));
  EXPECT_EQ(resolved("", 1, "", "1"), Both(true, false));
  EXPECT_EQ(resolved("", 1, "", "0"), Both(true, true));
  EXPECT_EQ(resolved("0.28.0", 1, "", "1"), Both(true, false));
  EXPECT_EQ(resolved("0.27.1", 1, "", "1"), Both(true, true));
}

TEST(All2All, TheVariableIsKimis) {
  VllmContext c("deepseek-v3");
  c.context.sizes = {.tp = 8, .dp = 2, .expert_parallel = true};
  c.context.settings.env = {{vllm::kSliceSharedVariable, "1"}};
  c.Resolve();
  EXPECT_TRUE(c.context.resolved.replicate_shared);
  c.context.settings.all2all_backend = "deepep_v2";
  c.Resolve();
  EXPECT_FALSE(c.context.resolved.sequence_parallel);
}

class All2AllBuffersTest : public ::testing::Test {
 protected:
  vllm::All2AllBuffers Buffers(const char* backend) {
    VllmContext c("deepseek-v3");
    c.context.sizes = Wide();
    c.context.settings.all2all_backend = backend;
    c.context.experts_span_nodes = across_;
    c.Resolve();
    tokens_ = c.context.resolved.max_num_batched_tokens;
    return vllm::MakeAll2AllBuffers(c.context);
  }
  bool across_ = false;
  int64_t tokens_ = 0;
};

TEST_F(All2AllBuffersTest, HighThroughputHasAFixedOne) {
  vllm::All2AllBuffers buffers = Buffers("deepep_high_throughput");
  EXPECT_EQ(buffers.nvlink, Bytes(kGiB));
  EXPECT_EQ(buffers.network, Bytes());
  across_ = true;
  EXPECT_EQ(Buffers("deepep_high_throughput").network, Bytes(kGiB));
  EXPECT_EQ(Buffers("allgather_reducescatter").nvlink, Bytes());
}

// DeepSeek-V3: 256 experts of width 7,168 in messages of 16 + 14,336 bytes (there) and
// 224 + 14,336 (back).
TEST_F(All2AllBuffersTest, LowLatencyHasRoomForEveryExpertsMessages) {
  const vllm::All2AllBuffers buffers = Buffers("deepep_low_latency");
  EXPECT_EQ(tokens_, 256);
  const int64_t back = 56 * 4 + 7168 * 2;
  const int64_t send = 256 * 256 * back;
  const int64_t signals = 2176;  // 256 × 8 + 32 × 4, a multiple of 128
  EXPECT_EQ(buffers.network, Bytes(2 * (send + send + signals) + 128));
}

TEST_F(All2AllBuffersTest, OldVersionsCutTheBatch) {
  VllmContext c("deepseek-v3", "0.19.0");
  c.context.sizes = Wide();
  c.context.settings.max_num_batched_tokens = 8192;
  c.Resolve();
  EXPECT_EQ(vllm::BatchedTokens(c.context), 256);
  VllmContext late("deepseek-v3", "0.20.0");
  late.context.sizes = Wide();
  late.context.settings.max_num_batched_tokens = 8192;
  late.Resolve();
  EXPECT_EQ(vllm::BatchedTokens(late.context), 8192);
}

}  // namespace
}  // namespace shardplan
