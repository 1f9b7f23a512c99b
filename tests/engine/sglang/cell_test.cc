#include "engine/sglang/cell.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/sglang_context.h"

namespace shardplan::sglang {
namespace {

using testing_support::SglangContext;

TokenCell Cell(SglangContext& c, const char* backend = "fa3") {
  const auto format = ResolveKvFormat(c.context, backend);
  EXPECT_TRUE(format.has_value());
  return CellOf(c.context, *format, {0, c.context.arch->layers()});
}

TEST(SglangCell, HeadsDivideByTheAttentionTp) {
  SglangContext c("Qwen__Qwen3-30B-A3B");  // 4 KV heads of 128, 48 layers
  EXPECT_EQ(Cell(c).full, Bytes(98304));
  EXPECT_EQ(Cell(c).rule, "4 of 4 KV heads × (128 + 128) × 48 layers × 16 bits");
  c.args().tp_size = 4;
  EXPECT_EQ(Cell(c).full, Bytes(98304 / 4));
  c.args().tp_size = 16;  // no less than one head
  EXPECT_EQ(Cell(c).full, Bytes(98304 / 4));
  c.args().dcp_size = 4;  // shares tokens, so each rank has more heads
  EXPECT_EQ(Cell(c).full, Bytes(98304 / 4));
  c.args().tp_size = 4;
  EXPECT_EQ(Cell(c).full, Bytes(98304));
  c.args().dcp_size = 1;
  c.args().dp_size = 4;
  c.args().enable_dp_attention = true;
  EXPECT_EQ(Cell(c).full, Bytes(98304));
}

TEST(SglangCell, Formats) {
  SglangContext c("Qwen__Qwen3-30B-A3B");
  const auto of = [&](const char* dtype) {
    c.args().kv_cache_dtype = dtype;
    return Cell(c).full.count();
  };
  EXPECT_EQ(of("bf16"), 98304);
  EXPECT_EQ(of("fp8_e4m3"), 98304 / 2);
  EXPECT_EQ(of("mxfp8"), 98304 / 2 + 98304 / 2 / 32);
  // Half a byte, a scale for 16, and one layer's workspace.
  EXPECT_EQ(of("nvfp4"), 98304 / 4 + 98304 / 2 / 16 + 4 * 128 * 2);
  c.args().kv_cache_dtype = "fp4_e2m1";
  EXPECT_EQ(ResolveKvFormat(c.context, "fa3").error().ToString(),
            "--kv-cache-dtype fp4_e2m1: expected auto, bf16, bfloat16, fp8_e5m2, fp8_e4m3, mxfp8, "
            "nvfp4 or fp4_mx_block16");
}

TEST(SglangCell, LatentsDivideByNothing) {
  SglangContext c("kimi-k3");
  EXPECT_EQ(Cell(c).full, Bytes(24 * 576 * 2));
  c.args().tp_size = 16;
  c.args().dcp_size = 8;
  EXPECT_EQ(Cell(c).full, Bytes(27648));
  c.args().kv_cache_dtype = "fp8_e4m3";
  EXPECT_EQ(Cell(c).full, Bytes(13824));
  SglangContext linear("moonshotai__Kimi-Linear-48B-A3B");
  EXPECT_EQ(Cell(linear).full, Bytes(8064));
  SglangContext twice("meituan-longcat__LongCat-Flash-Chat");
  EXPECT_EQ(Cell(twice).full, Bytes(28 * 2 * 576 * 2));
}

// Sparse attention: 1,152 B and 132 for the indexer, or 656 where FP8 keeps its scales, or 576.
TEST(SglangCell, SparseAttention) {
  SglangContext c("deepseek-ai__DeepSeek-V3.2");
  EXPECT_EQ(Cell(c).full, Bytes(61 * (1152 + 132)));
  c.args().kv_cache_dtype = "fp8_e4m3";
  EXPECT_EQ(Cell(c).full, Bytes(61 * (656 + 132)));
  c.args().kv_cache_dtype = "auto";
  c.Card(183359, 100);
  EXPECT_EQ(Cell(c).full, Bytes(61 * (576 + 132)));
}

TEST(SglangCell, LayersThatShareAnIndexersChoice) {
  SglangContext c("zai-org__GLM-5.2");
  const auto own = static_cast<int64_t>(c.context.arch->indexer_layers.size());
  ASSERT_LT(own, c.context.arch->layers());
  EXPECT_EQ(Cell(c).full, Bytes(78 * 1152 + own * 132));
  c.args().enable_hierarchical_cache = true;
  EXPECT_EQ(Cell(c).full, Bytes(78 * (1152 + 132)));
}

TEST(SglangCell, Windows) {
  SglangContext c("openai__gpt-oss-120b");  // 18 layers with a window, 18 without
  const TokenCell cell = Cell(c);
  EXPECT_EQ(cell.full, Bytes(8 * 128 * 2 * 18));
  EXPECT_EQ(cell.window, Bytes(8 * 128 * 2 * 18));
  EXPECT_DOUBLE_EQ(cell.bytes, 1.8 * 8 * 128 * 2 * 18);
  c.args().swa_full_tokens_ratio = 0.25;
  EXPECT_DOUBLE_EQ(Cell(c).bytes, 1.25 * 8 * 128 * 2 * 18);
  // Windows of another shape than the rest.
  SglangContext mimo("mimo-v2-flash");
  EXPECT_EQ(Cell(mimo).full,
            Bytes(4 * (192 + 128) * 2 * mimo.context.arch->CountKind(AttentionKind::kFull, 0, 48)));
  EXPECT_EQ(Cell(mimo).window, Bytes(8 * (192 + 128) * 2 * 39));
}

TEST(SglangCell, StagesHoldTheirOwnLayers) {
  SglangContext c("kimi-k3");
  const auto format = ResolveKvFormat(c.context, "fa3");
  EXPECT_EQ(CellOf(c.context, *format, {0, 46}).full, Bytes(11 * 1152));
  EXPECT_EQ(CellOf(c.context, *format, {46, 47}).full, Bytes(13 * 1152));
  EXPECT_EQ(CellOf(c.context, *format, {0, 3}).bytes, 0);  // states alone
}

TEST(SglangCell, Drafts) {
  SglangContext c("Qwen__Qwen3-30B-A3B");
  c.args().draft_layers = 1;
  EXPECT_DOUBLE_EQ(Cell(c).bytes, 98304.0 / 48 * 49);
  SglangContext own("kimi-k3");
  own.args().draft_bytes_per_token = 1000;
  own.args().dcp_size = 8;
  EXPECT_DOUBLE_EQ(Cell(own).bytes, 27648 + 8000);
}

TEST(SglangCell, DeepSeekV4) {
  SglangContext c("deepseek-ai__DeepSeek-V4-Pro");
  const auto& ratios = c.context.arch->compress_ratio;
  const auto fine = static_cast<double>(std::count(ratios.begin(), ratios.end(), 4));
  const auto coarse = static_cast<double>(std::count(ratios.begin(), ratios.end(), 128));
  ASSERT_GT(fine, 0);
  // 584 B a latent; rings of 8 over pages of 128, of two windows of keys and scores in fp32.
  const double expected = .8 * 584 * 61 + 584 * fine / 4 + 584 * coarse / 128 + 132 * fine / 4 +
                          .8 * 8 / 128 * (8192 + 2048) * fine;
  EXPECT_NEAR(Cell(c).bytes, expected, 1e-6);
}

}  // namespace
}  // namespace shardplan::sglang
