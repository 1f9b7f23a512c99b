#include "engine/vllm/refusals.h"

#include <gtest/gtest.h>

#include "shardplan/base/units.h"
#include "support/vllm_context.h"

namespace shardplan {
namespace {

using testing_support::VllmContext;

TEST(VllmRefusals, PrintsGibAsPythonDoes) {
  EXPECT_EQ(vllm::FormatGib(Bytes(80 * kGiB)), "80.0");
  EXPECT_EQ(vllm::FormatGib(Bytes(kGiB * 123 / 10)), "12.3");
  EXPECT_EQ(vllm::FormatGib(Bytes(kGiB * 1234 / 100)), "12.34");
  EXPECT_EQ(vllm::FormatGib(Bytes(0)), "0.0");
  EXPECT_EQ(vllm::FormatGib(Bytes(-kGiB / 2)), "-0.5");
  // Halves go to the even neighbour, as Python's round does.
  EXPECT_EQ(vllm::FormatGib(Bytes(kGiB * 9 / 8)), "1.12");
  EXPECT_EQ(vllm::FormatGib(Bytes(kGiB * 11 / 8)), "1.38");
  EXPECT_EQ(vllm::FormatGib(Bytes(kGiB * 9 / 8 + 1)), "1.13");
  EXPECT_EQ(vllm::FormatGib(Bytes(kGiB * 9 / 8 - 1)), "1.12");
}

// One usable block short: not even the null block leaves anything.
TEST(VllmRefusals, WindowsAreRefusedByWhatTheNullBlockLeaves) {
  VllmContext c("dense-70b");
  c.context.sizes.tp = 8;
  c.Resolve();
  const vllm::KvLayout layout = vllm::MakeKvLayout(c.context);
  const Bytes block = layout.bytes_per_block[0];
  EXPECT_EQ(vllm::WindowRefusal(layout, 0, block, 16, true), vllm::NoKvMemoryText());
  EXPECT_EQ(vllm::WindowRefusal(layout, 0, block, 16, false), std::nullopt);
  EXPECT_EQ(vllm::WindowRefusal(layout, 0, block * 2, 16, true), std::nullopt);
  const auto refusal = vllm::WindowRefusal(layout, 0, block * 2, 17, true);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_TRUE(refusal->ends_with("the estimated maximum model length is 16.")) << *refusal;
}

TEST(VllmRefusals, GraphsOfAnyStateLayersWantABlockForEverySequence) {
  for (const AttentionKind kind :
       {AttentionKind::kKda, AttentionKind::kGdn, AttentionKind::kMamba2, AttentionKind::kMamba1}) {
    VllmContext c("dense-70b");
    c.context.resolved.max_num_seqs = 100;
    c.context.resolved.graph_mode = vllm::GraphMode::kFullAndPiecewise;
    EXPECT_FALSE(vllm::GraphsNeedMoreBlocks(c.context, 99));
    c.spec().arch.attention[0] = kind;
    EXPECT_TRUE(vllm::GraphsNeedMoreBlocks(c.context, 99));
    EXPECT_FALSE(vllm::GraphsNeedMoreBlocks(c.context, 100));
    for (const auto mode : {vllm::GraphMode::kNone, vllm::GraphMode::kPiecewise}) {
      c.context.resolved.graph_mode = mode;
      EXPECT_FALSE(vllm::GraphsNeedMoreBlocks(c.context, 99));
    }
    for (const auto mode : {vllm::GraphMode::kFull, vllm::GraphMode::kFullDecodeOnly}) {
      c.context.resolved.graph_mode = mode;
      EXPECT_TRUE(vllm::GraphsNeedMoreBlocks(c.context, 99));
    }
  }
}

TEST(VllmRefusals, Texts) {
  EXPECT_EQ(vllm::FreeMemoryText(3, Bytes(10 * kGiB), Bytes(80 * kGiB), 0.9, Bytes(72 * kGiB)),
            "Free memory on device cuda:3 (10.0/80.0 GiB) on startup is less than desired GPU "
            "memory utilization (0.9, 72.0 GiB). Decrease GPU memory utilization or reduce GPU "
            "memory used by other processes.");
  EXPECT_EQ(vllm::StateBlocksText(1024, 161),
            "max_num_seqs (1024) exceeds available Mamba cache blocks (161). Each decode sequence "
            "requires one Mamba cache block, so CUDA graph capture cannot proceed. Please lower "
            "max_num_seqs to at most 161 or increase gpu_memory_utilization.");
}

}  // namespace
}  // namespace shardplan
