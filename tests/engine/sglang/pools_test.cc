#include "engine/sglang/pools.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "engine/sglang/parallel.h"
#include "support/sglang_context.h"

namespace shardplan::sglang {
namespace {

using testing_support::SglangContext;

Pools Size(SglangContext& c, double before, double weights) {
  const Defaults defaults = ResolveDefaults(c.context);
  const auto pools =
      SizePools(c.context, defaults, Stages(c.context.args, c.context.arch->layers()),
                {before, before - weights});
  EXPECT_TRUE(pools.has_value()) << (pools ? "" : pools.error().ToString());
  return pools.value_or(Pools());
}

// Kimi-K3 with --mem-fraction-static 0.85 and weights as computed for SGLang; every number printed
// with the formulas at 0bda0b168.
struct Worked {
  const char* name;
  int64_t mib;
  int capability;
  double before, weights;
  std::function<void(ServerArgs&)> set;
  double rest;
  int64_t slots, per_request, requests;
  double state_gib, kv_gib;
  int64_t tokens;
};

constexpr double kTp8 = 193.22150532901287;
constexpr double kTp16Ep16 = 101.81060843914747;
constexpr double kTp32Ep32 = 56.6800196133554;
void Tp8(ServerArgs& a) { a.tp_size = 8; }

TEST(SglangPools, WorkedExamplesOfKimiK3) {
  const auto b300 = [](const char* name, std::function<void(ServerArgs&)> set, int64_t slots,
                       int64_t per_request, int64_t requests, double state, double kv,
                       int64_t tokens) {
    return Worked{name,  275040,      103,      266.1, kTp8, std::move(set), 32.87,
                  slots, per_request, requests, state, kv,   tokens};
  };
  const std::vector<Worked> rows = {
      b300("ratio 0.9", Tp8, 296, 5, 59, 15.54, 17.33, 672'960),
      b300(
          "ratio 0.2", [](ServerArgs& a) { Tp8(a), a.mamba_full_memory_ratio = .2; }, 103, 5, 20,
          5.44, 27.43, 1'065'088),
      b300(
          "lazy",
          [](ServerArgs& a) { Tp8(a), a.mamba_radix_strategy = StateStrategy::kExtraBufferLazy; },
          296, 4, 74, 15.54, 17.33, 672'960),
      b300(
          "bf16 states", [](ServerArgs& a) { Tp8(a), a.mamba_ssm_dtype = DType::kBF16; }, 574, 5,
          114, 15.55, 17.31, 672'384),
      b300(
          "fp8 KV", [](ServerArgs& a) { Tp8(a), a.kv_cache_dtype = "fp8_e4m3"; }, 296, 5, 59, 15.54,
          17.33, 1'345'920),
      b300(
          "DCP8",
          [](ServerArgs& a) {
            Tp8(a), a.dcp_size = 8, a.kv_cache_dtype = "fp8_e4m3";
            a.mamba_ssm_dtype = DType::kBF16;
            a.mamba_radix_strategy = StateStrategy::kExtraBufferLazy;
          },
          574, 4, 143, 15.55, 17.31, 1'344'832),
      b300(
          "DSPARK",
          [](ServerArgs& a) {
            Tp8(a), a.speculative_algorithm = "DSPARK", a.speculative_num_draft_tokens = 8;
          },
          110, 5, 22, 5.81, 17.43, 676'992),
      b300(
          "DSPARK, replayed",
          [](ServerArgs& a) {
            Tp8(a), a.speculative_algorithm = "DSPARK", a.speculative_num_draft_tokens = 8;
            a.enable_linear_replayssm_spec = true;
          },
          217, 5, 43, 15.55, 17.32, 672'576),
      {"H200 2×8", 143771, 90, 138.0, kTp16Ep16,
       [](ServerArgs& a) {
         a.tp_size = a.ep_size = 16, a.moe_runner_backend = "marlin";
         a.decode_attention_backend = "flashmla";
       },
       15.39, 277, 5, 55, 7.27, 8.12, 315'328},
      {"H100 4×8", 81559, 90, 78.0, kTp32Ep32,
       [](ServerArgs& a) {
         a.tp_size = a.ep_size = 32, a.moe_runner_backend = "marlin";
         a.decode_attention_backend = "flashmla";
       },
       9.52, 343, 5, 68, 4.50, 5.02, 195'072},
      {"B200 2×8, two stages", 183359, 100, 177.5, 99.0,
       [](ServerArgs& a) { Tp8(a), a.pp_size = 2; }, 51.78, 923, 4, 230, 24.52, 27.26, 1'954'304},
  };
  for (const Worked& row : rows) {
    SglangContext c("kimi-k3");
    c.Card(row.mib, row.capability);
    c.args().mem_fraction_static = .85;
    row.set(c.args());
    const Pools pools = Size(c, row.before, row.weights);
    ASSERT_FALSE(pools.refusal) << row.name << ": " << pools.refusal->message;
    EXPECT_EQ(pools.page_size, 64) << row.name;
    EXPECT_NEAR(pools.rest_gib, row.rest, .0051) << row.name;
    EXPECT_NEAR(pools.multimodal_gib, 100.0 / 1024, 1e-9) << row.name;
    ASSERT_TRUE(pools.states) << row.name;
    EXPECT_EQ(pools.states->slots, row.slots) << row.name;
    EXPECT_EQ(pools.states->slots_per_request, row.per_request) << row.name;
    EXPECT_EQ(pools.max_running_requests, row.requests) << row.name;
    EXPECT_NEAR(pools.states->pool_gib, row.state_gib, .0051) << row.name;
    EXPECT_NEAR(pools.kv_gib, row.kv_gib, .0051) << row.name;
    EXPECT_EQ(pools.tokens, row.tokens) << row.name;
    EXPECT_EQ(pools.logical_tokens, row.tokens * c.args().dcp_size) << row.name;
  }
}

TEST(SglangPools, WeightsThatLeaveNothing) {
  SglangContext c("kimi-k3");
  c.args().tp_size = 16;
  c.args().moe_runner_backend = "marlin";
  c.args().mem_fraction_static = .85;
  const Pools pools = Size(c, 138.0, 130.4111028239131);
  EXPECT_NEAR(pools.rest_gib, -13.21, .006);
  EXPECT_NEAR(pools.minimum_fraction, .9450, 5e-5);
  // Of a model with states it is the states that SGLang speaks of.
  ASSERT_TRUE(pools.refusal);
  EXPECT_EQ(pools.refusal->id, "pool.states");
  EXPECT_EQ(pools.refusal->fix, "--mem-fraction-static above 0.946, more ranks, or larger cards");

  SglangContext dense("Qwen__Qwen3-32B");
  dense.args().mem_fraction_static = .85;
  const Pools none = Size(dense, 70, 61.1);
  ASSERT_TRUE(none.refusal);
  EXPECT_EQ(none.refusal->id, "pool.kv");
  EXPECT_EQ(none.refusal->message,
            "Loaded weights leave no GPU memory for the KV cache under "
            "--mem-fraction-static=0.85. Raise --mem-fraction-static above 0.873 (minimum viable = "
            "1 - available/pre = 0.8729). If using speculative decoding, draft weights are now "
            "counted.");
  // Half a page is no page.
  dense.args().attention_backend = "flashmla";
  dense.args().mem_fraction_static = .8730;
  EXPECT_EQ(Size(dense, 70, 61.1).refusal->id, "pool.tokens");
  dense.args().mem_fraction_static = .9;
  EXPECT_FALSE(Size(dense, 70, 61.1).refusal);
}

TEST(SglangPools, TooFewStatesForOneRequest) {
  SglangContext c("kimi-k3");
  c.args().tp_size = 8;
  c.args().max_mamba_cache_size = 4;
  c.args().mem_fraction_static = .85;
  const Pools pools = Size(c, 266.1, kTp8);
  ASSERT_TRUE(pools.refusal);
  EXPECT_EQ(pools.refusal->id, "pool.requests");
  EXPECT_EQ(pools.refusal->message.substr(0, 134),
            "Hybrid (mamba/linear-attention) state cache is too small to serve any requests. "
            "max_mamba_cache_size=4, mamba_ratio=5, resulting max_n");
}

// Qwen3-30B-A3B on one card of the MI355X's size, a public log of July 2026: 230.20 GiB after the
// weights, 56.98 GiB of them, 204.63 GB to begin with, 1,669,816 tokens of 164,149,629,787 B.
TEST(SglangPools, AmdLog) {
  SglangContext c("Qwen__Qwen3-30B-A3B");
  c.Card(294896, 0);
  c.args().context_length = 262144;
  c.args().attention_backend = "triton";
  Pools pools = Size(c, 287.18, 56.98);
  EXPECT_NEAR(pools.rest_gib, 204.63, .015);
  EXPECT_EQ(TokensIn(pools.cells[0], 1, 164'149'629'787), 1'669'816);
  // As released, with the aiter backend: 15 % less, and its workspace grows with the requests.
  c.args().attention_backend = "aiter";
  pools = Size(c, 287.18, 56.98);
  EXPECT_NEAR(pools.rest_gib, 165.4, .05);
  EXPECT_EQ(pools.max_running_requests, 3528);
  const std::vector<SlackItem> items = SlackItems(c.context, ResolveDefaults(c.context), pools);
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[0].bytes, Bytes(3529 * (int64_t{262144} + 4) * 4));
  EXPECT_EQ(items[1].bytes, Bytes(3528LL * 32 * 1024 * (128 * 4 + 8)));
}

TEST(SglangPools, LimitsOfTokensAndRequests) {
  SglangContext c("Qwen__Qwen3-30B-A3B");
  c.args().mem_fraction_static = .9;
  Pools pools = Size(c, 138, 57);
  EXPECT_EQ(pools.max_running_requests, 4096);
  c.args().context_length = 262144 * 4;
  EXPECT_EQ(Size(c, 138, 57).max_running_requests, 2048);
  c.args().max_running_requests = 100;
  EXPECT_EQ(Size(c, 138, 57).max_running_requests, 100);
  c.args().max_total_tokens = 101;
  pools = Size(c, 138, 57);
  EXPECT_EQ(pools.tokens, 101);
  EXPECT_EQ(pools.max_running_requests, 50);
  EXPECT_EQ(pools.KvBytes(0), Bytes(98304) * 102);  // a page beyond
  c.args().max_total_tokens = std::nullopt;
  c.args().tp_size = 4;
  c.args().dp_size = 4;
  c.args().enable_dp_attention = true;
  EXPECT_EQ(Size(c, 138, 57).max_running_requests, 25);
}

TEST(SglangPools, WindowsShareThePool) {
  SglangContext c("openai__gpt-oss-120b");
  c.args().mem_fraction_static = .9;
  Pools pools = Size(c, 78, 61);
  const int64_t budget = static_cast<int64_t>(pools.rest_gib * (1 << 30));
  EXPECT_EQ(pools.tokens, static_cast<int64_t>(static_cast<double>(budget) / (1.8 * 36864)));
  EXPECT_EQ(pools.window_tokens, static_cast<int64_t>(static_cast<double>(pools.tokens) * .8));
  // With a known number of requests and no prefixes the windows take what those need.
  c.args().disable_radix_cache = true;
  c.args().max_running_requests = 64;
  pools = Size(c, 78, 61);
  EXPECT_EQ(pools.window_tokens, 64 * (128 + 1 + 1 + 1) + 2 * 8192 + 1);
  EXPECT_EQ(pools.tokens, (budget - pools.window_tokens * 36864) / 36864);
  c.args().max_running_requests = 1'000'000;
  pools = Size(c, 78, 61);
  ASSERT_TRUE(pools.refusal);
  EXPECT_EQ(pools.refusal->id, "pool.window");
}

TEST(SglangPools, WhatComesOutOfTheSlack) {
  SglangContext c("kimi-k3");
  c.Card(275040, 103);
  c.args().tp_size = 8;
  c.args().mem_fraction_static = .85;
  c.args().enable_symm_mem = true;
  Pools pools = Size(c, 266.1, kTp8);
  std::vector<SlackItem> items = SlackItems(c.context, ResolveDefaults(c.context), pools);
  // Four MiB a request at a million tokens; symmetric memory is off while graphs are captured.
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[0].bytes, Bytes(60 * (int64_t{1048576} + 4) * 4));
  EXPECT_EQ(items[1].bytes, Bytes(150 << 20));
  c.args().disable_cuda_graph = true;
  c.args().prefill_graph = PrefillGraph::kDisabled;
  items = SlackItems(c.context, ResolveDefaults(c.context), pools);
  ASSERT_EQ(items.size(), 3u);
  EXPECT_EQ(items[2].bytes, Bytes(int64_t{4} << 30));
  c.args().disaggregation_mode = Disaggregation::kDecode;
  c.args().disaggregation_decode_extra_slots = 16;
  items = SlackItems(c.context, ResolveDefaults(c.context), pools);
  EXPECT_EQ(items.back().bytes, pools.slot.bytes() * 16);
}

TEST(SglangPools, DeepSeekV4KeepsStatesForItsRequests) {
  SglangContext c("deepseek-ai__DeepSeek-V4-Pro");
  c.args().tp_size = 8;
  c.args().mem_fraction_static = .97;
  // At 2,048 requests they alone are more than the rest.
  ASSERT_TRUE(Size(c, 138.1, 125.65).refusal);
  c.args().max_running_requests = 64;
  const Pools pools = Size(c, 138.1, 125.65);
  ASSERT_FALSE(pools.refusal) << pools.refusal->message;
  EXPECT_EQ(pools.page_size, 256);
  const auto& ratios = c.context.arch->compress_ratio;
  const int64_t coarse = std::count(ratios.begin(), ratios.end(), 128);
  ASSERT_GT(coarse, 0);
  // 64 requests and one more, 128 rows each, and a ring and a row beyond, in 128s.
  const int64_t fixed = (66 * 128 + 128) * int64_t{2 * 512 * 4} * coarse;
  const double bytes = pools.kv_gib * (1 << 30) - static_cast<double>(fixed);
  EXPECT_NEAR(static_cast<double>(pools.tokens), bytes / pools.cells[0].bytes, 256);
  EXPECT_EQ(pools.tokens % 256, 0);
}

}  // namespace
}  // namespace shardplan::sglang
