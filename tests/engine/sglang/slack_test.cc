#include "engine/sglang/slack.h"

#include <gtest/gtest.h>

#include "shardplan/base/units.h"
#include "support/sglang_context.h"

namespace shardplan::sglang {
namespace {

using testing_support::SglangContext;

Bytes SumOf(const std::vector<Part>& parts) {
  Bytes sum;
  for (const Part& part : parts) sum += part.bytes;
  return sum;
}

Estimate Activations(SglangContext& c, int64_t requests = 64) {
  return EstimateActivations(c.context, ResolveDefaults(c.context), {0, c.context.arch->layers()},
                             requests);
}

// Kimi-K3, TP16 × EP16, marlin: 8,192 tokens go to 16 experts each, of 3,072 within 3,584; twelve
// rows of 7,168 are carried: four of the layers, eight of attention residuals.
TEST(SglangSlack, ActivationsOfKimiK3) {
  SglangContext c("kimi-k3");
  c.args().tp_size = c.args().ep_size = 16;
  c.args().moe_runner_backend = "marlin";
  const Estimate e = Activations(c);
  const int64_t carried = int64_t{8192} * 12 * 7168 * 2;
  const int64_t shared = int64_t{8192} * 3 * 6144 / 16 * 2;
  const int64_t experts = int64_t{8192} * 16 * (2 * 3072 + 3072) * 2 + shared;
  EXPECT_EQ(e.bytes.central, Bytes(carried + experts));
  EXPECT_EQ(SumOf(e.parts), e.bytes.central);
  EXPECT_LT(e.bytes.low, e.bytes.central);
  EXPECT_EQ(e.bytes.high, e.bytes.central * 2);
}

TEST(SglangSlack, MoreTokensTakeMoreAndDpAttentionGathers) {
  SglangContext c("deepseek-v3");
  c.args().tp_size = 8;
  const Bytes plain = Activations(c).bytes.central;
  c.args().chunked_prefill_size = 16384;
  EXPECT_GT(Activations(c).bytes.central, plain);
  c.args().chunked_prefill_size.reset();
  c.args().dp_size = 8;
  c.args().enable_dp_attention = true;
  // A rank carries an eighth of the tokens, but its experts see all of them.
  const Estimate gathered = Activations(c);
  EXPECT_LT(gathered.parts[0].bytes, Bytes(int64_t{8192} * 4 * 7168 * 2));
  EXPECT_EQ(gathered.parts[1].name, "experts");
}

// A decoding server never runs a prefill: a token of each request, or as many as are guessed.
TEST(SglangSlack, DecodingServers) {
  SglangContext c("kimi-k3");
  c.args().tp_size = 8;
  const Bytes prefill = Activations(c, 64).bytes.central;
  c.args().disaggregation_mode = Disaggregation::kDecode;
  const Bytes plain = Activations(c, 64).bytes.central;
  EXPECT_LT(plain * 20, prefill);
  c.args().speculative_num_draft_tokens = 8;
  EXPECT_GT(Activations(c, 64).bytes.central, plain * 4);
}

// 0.13 GB for 36 decode graphs and 2.84 GB for 58 prefill graphs of 64 layers on an H100 (v0.5.19):
// inside the range.
TEST(SglangSlack, GraphsHoldThePublishedOnes) {
  SglangContext c("Qwen__Qwen3-32B", "0.5.19");
  c.Card(81559, 90);
  const Defaults d = ResolveDefaults(c.context);
  ASSERT_EQ(d.decode_graphs.size(), 36u);
  const Estimate e = EstimateGraphs(c.context, d, {0, 64}, 4096);
  EXPECT_EQ(SumOf(e.parts), e.bytes.central);
  const double printed = .13 + 2.84;
  EXPECT_LE(InGiB(e.bytes.low).value(), printed);
  EXPECT_GE(InGiB(e.bytes.high).value(), printed);
  // A pool of ten requests captures 1, 2, 4 and 8.
  const Estimate few = EstimateGraphs(c.context, d, {0, 64}, 10);
  EXPECT_EQ(few.parts[0].bytes, Bytes(4 * 64 * 150 * kKiB));
  c.args().disable_cuda_graph = true;
  EXPECT_EQ(EstimateGraphs(c.context, ResolveDefaults(c.context), {0, 64}, 10).bytes.high, Bytes());
}

// 78.47 GB of 79.18 on one H100 with a context of 621 MiB; about 138.1 of 139.8 on eight H200.
TEST(SglangSlack, WhatIsGoneBeforeTheWeights) {
  SglangContext c("deepseek-v3");
  const Range alone = GoneBeforeLoad(c.context, 1).bytes;
  const double h100 = 79.18 - 621. / 1024 - 78.47;
  EXPECT_LE(InGiB(alone.low).value(), h100);
  EXPECT_GE(InGiB(alone.high).value(), h100);
  const Range eight = GoneBeforeLoad(c.context, 8).bytes;
  EXPECT_NEAR(InGiB(eight.central).value(), 139.8 - .606 - 138.1, .05);
  EXPECT_EQ(CommunicationLater(c.context, 1).bytes.high, Bytes());
  EXPECT_GT(CommunicationLater(c.context, 8).bytes.central, Bytes());
}

TEST(SglangSlack, AllToAllBuffers) {
  SglangContext c("kimi-k3");
  c.args().tp_size = c.args().ep_size = 8;
  EXPECT_EQ(AllToAllBuffers(c.context, ResolveDefaults(c.context)).bytes.high, Bytes());
  c.args().moe_a2a_backend = "deepep";
  const Estimate deepep = AllToAllBuffers(c.context, ResolveDefaults(c.context));
  EXPECT_EQ(deepep.bytes.central, Bytes(2 * kGiB));
  c.args().moe_a2a_backend = "megamoe";
  c.args().mega_moe_tokens = 20480;
  const Estimate mega = AllToAllBuffers(c.context, ResolveDefaults(c.context));
  EXPECT_EQ(mega.bytes.central, Bytes(int64_t{20480} * 16 * 3584 * 3));
  EXPECT_EQ(SumOf(mega.parts), mega.bytes.central);
}

}  // namespace
}  // namespace shardplan::sglang
