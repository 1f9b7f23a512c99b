#include "engine/vllm/outside_torch.h"

#include <gtest/gtest.h>

#include "shardplan/base/units.h"
#include "support/vllm_context.h"

namespace shardplan {
namespace {

using testing_support::VllmContext;

TEST(VllmOutsideTorch, OneCardHasNoCommunication) {
  VllmContext c("dense-70b");
  c.Resolve();
  const vllm::OutsideTorch outside = vllm::ComputeOutsideTorch(c.context);
  EXPECT_EQ(outside.communication.high, Bytes());
  EXPECT_EQ(outside.library.central, Gibibytes(0.14).ToBytes());
}

TEST(VllmOutsideTorch, GrowsWithTensorParallelismAndNodes) {
  VllmContext c("kimi-k3");
  c.context.sizes.tp = 8;
  c.Resolve();
  const Range one = vllm::ComputeOutsideTorch(c.context).communication;
  EXPECT_NEAR(InGiB(one.central).value(), 0.41 + 2 * 0.15, 1e-6);
  c.context.tp_spans_nodes = true;
  const Range two = vllm::ComputeOutsideTorch(c.context).communication;
  EXPECT_EQ(two.central, one.central);
  EXPECT_NEAR(InGiB(two.high - one.high).value(), 0.9, 1e-6);
}

TEST(VllmGraphs, ReserveForTheSizesOfThePublishedRun) {
  VllmContext c("kimi-k3");
  c.context.sizes.tp = 8;
  c.context.sizes.pp = 2;
  c.context.settings.max_num_seqs = 1;
  c.context.settings.max_num_batched_tokens = 8192;
  c.Resolve("48,45");
  EXPECT_EQ(c.context.resolved.capture_sizes, (std::vector<int64_t>{1, 2}));
  const vllm::GraphReserve reserve = vllm::ComputeGraphReserve(c.context, 0);
  EXPECT_EQ(reserve.piecewise, 2);
  EXPECT_EQ(reserve.full, 1);
  // 62 blocks fewer than eager: 0.61 GiB.
  EXPECT_NEAR(InGiB(reserve.reserved.central).value(), 0.61, 0.03);
  EXPECT_LT(reserve.reserved.low, reserve.reserved.central);
}

TEST(VllmGraphs, NothingWithoutGraphsOrBeforeTheEstimate) {
  VllmContext eager("kimi-k3");
  eager.context.settings.enforce_eager = true;
  eager.Resolve();
  EXPECT_EQ(vllm::ComputeGraphReserve(eager.context, 0).reserved.high, Bytes());
  VllmContext old("kimi-k3", "0.28.0");  // V2 runner without an estimate
  old.Resolve();
  EXPECT_EQ(vllm::ComputeGraphReserve(old.context, 0).reserved.high, Bytes());
}

TEST(VllmGraphs, TheEstimateCanBeSwitchedOff) {
  VllmContext c("kimi-k3");
  c.context.settings.estimate_graphs = false;  // VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0
  c.Resolve();
  EXPECT_EQ(vllm::ComputeGraphReserve(c.context, 0).reserved.high, Bytes());
  EXPECT_GT(vllm::ComputeGraphReserve(c.context, 0).piecewise, 0);
  c.context.settings.estimate_graphs = true;
  EXPECT_GT(vllm::ComputeGraphReserve(c.context, 0).reserved.central, Bytes());
  VllmContext old("kimi-k3", "0.28.0");  // there is nothing to switch on
  old.context.settings.estimate_graphs = true;
  old.Resolve();
  EXPECT_EQ(vllm::ComputeGraphReserve(old.context, 0).reserved.high, Bytes());
}

}  // namespace
}  // namespace shardplan
