#include "engine/sglang/startup_log.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/sglang/parallel.h"
#include "engine/sglang/weights.h"
#include "shardplan/base/units.h"
#include "support/sglang_context.h"

namespace shardplan::sglang {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing_support::SglangContext;

Bytes GiB(double value) { return Gibibytes(value).ToBytes(); }

// Kimi-K3 with 138 GiB free and a fraction of 0.85: 277 slots, 55 requests.
TEST(SglangStartupLog, EveryLineOfAHybrid) {
  SglangContext c("kimi-k3", "0.5.17");
  ServerArgs& a = c.args();
  a.tp_size = a.ep_size = 16;
  a.moe_runner_backend = "marlin";
  a.attention_backend = "flashmla";
  a.mem_fraction_static = .85;
  const Defaults d = ResolveDefaults(c.context);
  const std::vector<StageRange> stages = Stages(a, 93);
  const Bytes weights = WeightsByStage(c.context, stages)[0];
  const auto pools = SizePools(c.context, d, stages, {138.0, 138.0 - InGiB(weights).value()});
  ASSERT_TRUE(pools.has_value());
  const StartupFacts facts{0,       {0, 93}, GiB(139.8), GiB(138.0), weights,
                           Bytes(), GiB(.5), GiB(1.5),   GiB(.5)};
  const std::vector<std::string> log = StartupLog(c.context, d, *pools, facts);
  EXPECT_THAT(
      log,
      ElementsAre(
          "Init torch distributed ends. elapsed=… s, mem usage=1.80 GB",
          "Load weight begin. avail mem=138.00 GB",
          "Load weight end. elapsed=… s, type=KimiK3ForConditionalGeneration, "
          "quant=compressed-tensors, avail mem=36.18 GB, mem usage=101.82 GB.",
          "Mamba Cache is allocated. max_mamba_cache_size: 277, conv_state size: 0.25GB, "
          "ssm_state size: 7.02GB",
          StartsWith(
              "KV Cache is allocated. dtype: torch.bfloat16, #tokens: 314944, KV size: 8.11 GB"),
          StartsWith("Memory pool end. avail mem="),
          // 55 requests run at once: no larger batches.
          StartsWith("Capture target decode CUDA graph begin. backend=full, num_tokens_per_req=1, "
                     "bs=[1, 2, 4, 8, 12, 16, 24, 32, 40, 48], avail mem="),
          StartsWith("Capture target decode CUDA graph end. elapsed=… s, mem usage=0.50 GB, "),
          StartsWith("Capture target prefill CUDA graph begin. backend=breakable, bs=[4, 8, "),
          StartsWith("Capture target prefill CUDA graph end. elapsed=… s, mem usage=1.50 GB, "),
          StartsWith("max_total_num_tokens=314944, chunked_prefill_size=8192, "
                     "max_prefill_tokens=16384, max_running_requests=55, context_len=1048576, "
                     "available_gpu_mem=")));
}

// K 8.23 and V 8.23 of 16.46 GB, as the log of about v0.4.9 has them.
TEST(SglangStartupLog, KeysAndValuesApart) {
  SglangContext c("Qwen__Qwen3-235B-A22B-FP8", "0.4.9");
  c.Card(81559, 90);
  c.args().tp_size = 4;
  c.args().mem_fraction_static = .93;
  const Defaults d = ResolveDefaults(c.context);
  const auto pools = SizePools(c.context, d, {{0, 94}}, {78.0, 21.92});
  ASSERT_TRUE(pools.has_value());
  const std::vector<std::string> log = StartupLog(
      c.context, d, *pools,
      {0, {0, 94}, GiB(79.18), GiB(78.0), GiB(56.08), Bytes(), GiB(1), Bytes(), Bytes()});
  // No dtype yet, and graphs in one line.
  EXPECT_EQ(log[3], "KV Cache is allocated. #tokens: 367224, K size: 8.23 GB, V size: 8.23 GB");
  EXPECT_THAT(log[5], StartsWith("Capture cuda graph begin. This can take up to several minutes."));
  EXPECT_THAT(log[6], StartsWith("Capture cuda graph end. Time elapsed: … s. mem usage=1.00 GB."));
}

// Layers with a window have a pool of their own, and a draft has its.
TEST(SglangStartupLog, PoolsApart) {
  SglangContext c("openai__gpt-oss-120b");
  c.args().tp_size = 8;
  const Defaults d = ResolveDefaults(c.context);
  auto pools = SizePools(c.context, d, {{0, 36}}, {138.0, 100.0});
  ASSERT_TRUE(pools && !pools->refusal);
  StartupFacts facts;
  facts.layers = {0, 36};
  facts.before_load = GiB(138.0);
  std::vector<std::string> log = StartupLog(c.context, d, *pools, facts);
  EXPECT_EQ(log[3], fmt::format("Use sliding window memory pool. full_layer_tokens={}, "
                                "swa_layer_tokens={}",
                                pools->tokens, pools->window_tokens));
  EXPECT_THAT(log[4], HasSubstr(fmt::format("#tokens: {}, K", pools->window_tokens)));
  EXPECT_THAT(log[5], HasSubstr(fmt::format("#tokens: {}, K", pools->tokens)));

  SglangContext mtp("deepseek-v3");
  mtp.args().tp_size = 8;
  mtp.args().speculative_algorithm = "EAGLE";
  mtp.args().speculative_num_draft_tokens = 4;
  mtp.args().draft_layers = 1;
  const Defaults e = ResolveDefaults(mtp.context);
  pools = SizePools(mtp.context, e, {{0, 61}}, {138.0, 57.0});
  ASSERT_TRUE(pools && !pools->refusal);
  facts.layers = {0, 61};
  log = StartupLog(mtp.context, e, *pools, facts);
  const double one = InGiB(pools->KvBytes(0)).value() / 62;
  EXPECT_THAT(log[3], HasSubstr(fmt::format("KV size: {:.2f} GB", 61 * one)));
  EXPECT_THAT(log[4], HasSubstr(fmt::format("KV size: {:.2f} GB", one)));
}

TEST(SglangStartupLog, EndsWhereSglangWould) {
  SglangContext c("kimi-k3");
  c.args().tp_size = 8;
  const Defaults d = ResolveDefaults(c.context);
  const auto pools = SizePools(c.context, d, {{0, 93}}, {138.0, 10.0});
  ASSERT_TRUE(pools.has_value());
  ASSERT_TRUE(pools->refusal);
  StartupFacts fits;
  fits.layers = {0, 93};
  fits.capacity = GiB(139.8);
  fits.before_load = GiB(138.0);
  fits.weights = GiB(128.0);
  EXPECT_EQ(StartupLog(c.context, d, *pools, fits).size(), 3u);
  StartupFacts not_even = fits;
  not_even.weights = GiB(192.0);
  EXPECT_EQ(StartupLog(c.context, d, *pools, not_even).size(), 2u);
}

}  // namespace
}  // namespace shardplan::sglang
