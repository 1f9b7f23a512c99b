#include "engine/sglang/state_pool.h"

#include <gtest/gtest.h>

#include "engine/sglang/parallel.h"
#include "support/sglang_context.h"

namespace shardplan::sglang {
namespace {

using testing_support::SglangContext;

StateSlot Slot(SglangContext& c) {
  return SlotOf(c.context, Stages(c.context.args, c.context.arch->layers()));
}

double Mib(Bytes bytes) { return static_cast<double>(bytes.count()) / (1 << 20); }

TEST(SglangStatePool, KimiK3Slots) {
  struct Row {
    int64_t tp;
    double slot, convolution, recurrent, bf16, ring;
  };
  for (const Row& row :
       {Row{1, 428.56, 14.56, 414.00, 221.56, 155.65}, Row{2, 214.28, 7.28, 207.00, 110.78, 77.83},
        Row{4, 107.14, 3.64, 103.50, 55.39, 38.91}, Row{8, 53.57, 1.82, 51.75, 27.69, 19.46},
        Row{16, 26.79, 0.91, 25.88, 13.85, 9.73}, Row{32, 13.39, 0.46, 12.94, 6.92, 4.86}}) {
    SglangContext c("kimi-k3");
    c.args().tp_size = row.tp;
    const StateSlot slot = Slot(c);
    EXPECT_NEAR(Mib(slot.states()), row.slot, .006) << row.tp;
    EXPECT_NEAR(Mib(slot.convolution), row.convolution, .006) << row.tp;
    EXPECT_NEAR(Mib(slot.recurrent), row.recurrent, .006) << row.tp;
    EXPECT_EQ(slot.ring, Bytes());
    EXPECT_EQ(slot.layers, 69);
    c.args().mamba_ssm_dtype = DType::kBF16;
    EXPECT_NEAR(Mib(Slot(c).states()), row.bf16, .006) << row.tp;
    c.args().enable_linear_replayssm_spec = true;
    EXPECT_NEAR(Mib(Slot(c).ring), row.ring, .006) << row.tp;
  }
}

TEST(SglangStatePool, OtherModels) {
  SglangContext linear("moonshotai__Kimi-Linear-48B-A3B");
  EXPECT_NEAR(Mib(Slot(linear).states()), 41.41, .006);
  // Divided by TP, not by what DP attention leaves of it.
  linear.args().tp_size = 4;
  linear.args().dp_size = 4;
  linear.args().enable_dp_attention = true;
  EXPECT_NEAR(Mib(Slot(linear).states()), 41.41 / 4, .006);
  // 36 layers; three taps of 2 × 2,048 + 4,096 channels, 32 heads of 128 × 128 in fp32.
  SglangContext next("Qwen__Qwen3-Next-80B-A3B-Instruct");
  EXPECT_EQ(Slot(next).states(), Bytes(36 * (3 * 8192 * 2 + 32 * 128 * 128 * 4)));
}

TEST(SglangStatePool, SlotsOfARequest) {
  SglangContext c("kimi-k3");
  const auto of = [&](std::optional<StateStrategy> strategy, bool overlap) {
    c.args().mamba_radix_strategy = strategy;
    c.args().disable_overlap_schedule = !overlap;
    return SlotsPerRequest(c.context);
  };
  EXPECT_EQ(of(std::nullopt, true), 5);
  EXPECT_EQ(of(StateStrategy::kExtraBuffer, false), 4);
  EXPECT_EQ(of(StateStrategy::kExtraBufferLazy, true), 4);
  EXPECT_EQ(of(StateStrategy::kNoBuffer, true), 3);
  c.args().skip_decode_lock = true;
  EXPECT_EQ(of(std::nullopt, true), 4);
  EXPECT_EQ(of(StateStrategy::kNoBuffer, true), 3);
  c.args().skip_decode_lock = false;
  c.args().pp_size = 2;  // switches the overlap off
  EXPECT_EQ(of(std::nullopt, true), 4);
  c.args().disable_radix_cache = true;
  EXPECT_EQ(of(std::nullopt, true), 1);
  SglangContext older("kimi-k3", "0.5.10");
  EXPECT_EQ(SlotsPerRequest(older.context), 3);
}

TEST(SglangStatePool, GivenCountsAndScratch) {
  SglangContext c("kimi-k3");
  c.args().tp_size = 8;
  const StateSlot slot = Slot(c);
  const double each = Mib(slot.states()) / 1024;
  c.args().max_mamba_cache_size = 100;
  StatePool pool = SizeStatePool(c.context, slot, 30, 0);
  EXPECT_EQ(pool.slots, 100);
  EXPECT_EQ(pool.requests, 20);
  EXPECT_NEAR(pool.pool_gib, 101 * each, 1e-9);  // and one to pad with
  EXPECT_NEAR(pool.rest_gib, 30 - 101 * each, 1e-9);

  // Drafts keep a state for every token that may be taken back.
  c.args().speculative_algorithm = "DSPARK";
  c.args().speculative_num_draft_tokens = 8;
  pool = SizeStatePool(c.context, slot, 30, 10);
  EXPECT_NEAR(pool.scratch_gib, 11 * 8 * each, 1e-9);
  pool = SizeStatePool(c.context, slot, 30, 48);
  EXPECT_NEAR(pool.scratch_gib, 21 * 8 * each, 1e-9);  // no more than fit

  SglangContext plain("kimi-k3");
  plain.args().tp_size = 8;
  plain.args().disable_radix_cache = true;
  pool = SizeStatePool(plain.context, slot, 30, 64);
  EXPECT_EQ(pool.slots, 64);
  EXPECT_EQ(pool.requests, 64);
  // Before the padding slot.
  SglangContext older("kimi-k3", "0.5.15");
  older.args().tp_size = 8;
  older.args().max_mamba_cache_size = 100;
  EXPECT_NEAR(SizeStatePool(older.context, slot, 30, 0).pool_gib, 100 * each, 1e-9);
}

TEST(SglangStatePool, AStagePaysForItsOwnLayers) {
  SglangContext now("kimi-k3");
  now.args().pp_size = 2;
  EXPECT_EQ(Slot(now).layers, 35);
  SglangContext older("kimi-k3", "0.5.16");
  older.args().pp_size = 2;
  EXPECT_EQ(Slot(older).layers, 69);
}

}  // namespace
}  // namespace shardplan::sglang
