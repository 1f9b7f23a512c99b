#include "engine/vllm/all2all.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace shardplan
