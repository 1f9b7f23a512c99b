#include "engine/sglang/refusals.h"

#include <gtest/gtest.h>

namespace shardplan::sglang {
namespace {

TEST(SglangRefusals, PythonFloats) {
  EXPECT_EQ(FormatPython(.85), "0.85");
  EXPECT_EQ(FormatPython(1), "1.0");
  EXPECT_EQ(FormatPython(.9 * .85), "0.765");
  EXPECT_EQ(FormatPython(.896 * .938125), "0.84056");
}

TEST(SglangRefusals, NoMemoryForTheCache) {
  EXPECT_DOUBLE_EQ(SuggestedFraction(.9113), .912);
  EXPECT_EQ(NoKvMemoryText(KvRefusal::kMinimumViable, .94, .9411),
            "Loaded weights leave no GPU memory for the KV cache under "
            "--mem-fraction-static=0.94. Raise --mem-fraction-static above 0.942 (minimum viable = "
            "1 - available/pre = 0.9411). If using speculative decoding, draft weights are now "
            "counted.");
  EXPECT_EQ(NoKvMemoryText(KvRefusal::kNotEnoughMemory, .88, .9),
            "Not enough memory. Please try to increase --mem-fraction-static. Current value: "
            "self.server_args.mem_fraction_static=0.88");
  EXPECT_EQ(NoTokensText(.88),
            "Not enough memory. Please try to increase --mem-fraction-static. Current value: "
            "mem_fraction_static=0.88");
}

TEST(SglangRefusals, States) {
  StatePool pool;
  pool.slots = -12;
  pool.slots_per_request = 5;
  EXPECT_EQ(
      NoStateSlotsText(pool, 2.3, Bytes(153'942'016)),
      "Not enough GPU memory for hybrid (mamba/linear-attention) state cache. Computed "
      "max_mamba_cache_size=-12 (total_rest_memory=2.30 GB, mamba_cache_per_req=146.81 MB). "
      "Try: (1) reduce --max-running-requests, (2) increase --mem-fraction-static, (3) reduce "
      "--speculative-num-draft-tokens, or (4) use GPUs with more memory.");
  pool.slots = 4;
  EXPECT_EQ(NoRequestsText(pool),
            "Hybrid (mamba/linear-attention) state cache is too small to serve any requests. "
            "max_mamba_cache_size=4, mamba_ratio=5, resulting max_num_reqs=0. Try: (1) reduce "
            "--max-running-requests, (2) increase --mem-fraction-static, or (3) use GPUs with more "
            "memory.");
}

TEST(SglangRefusals, Windows) {
  EXPECT_EQ(SmallWindowPoolText(128, 128, 64),
            "SWA pool (128 tokens) cannot hold even one request: the prefill admission floor is "
            "sliding_window_size (128) + page_size (64). Increase --swa-full-tokens-ratio or the "
            "total KV budget.");
  EXPECT_EQ(
      WindowCapText(24769, .85, .5),
      "SWA pool cap (24769 tokens, 0.85 GiB) leaves no room for the full KV pool within the "
      "available 0.50 GiB. Reduce --max-running-requests, lower SGLANG_SWA_EVICTION_INTERVAL, "
      "or increase --mem-fraction-static.");
}

}  // namespace
}  // namespace shardplan::sglang
