#include "engine/vllm/refusals.h"

#include <gtest/gtest.h>

#include "shardplan/base/units.h"

namespace shardplan {
namespace {

TEST(VllmRefusals, PrintsGibAsPythonDoes) {
  EXPECT_EQ(vllm::FormatGib(Bytes(80 * kGiB)), "80.0");
  EXPECT_EQ(vllm::FormatGib(Bytes(kGiB * 123 / 10)), "12.3");
  EXPECT_EQ(vllm::FormatGib(Bytes(kGiB * 1234 / 100)), "12.34");
  EXPECT_EQ(vllm::FormatGib(Bytes(0)), "0.0");
  EXPECT_EQ(vllm::FormatGib(Bytes(-kGiB / 2)), "-0.5");
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
