#include "engine/vllm/activations.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "shardplan/base/units.h"
#include "support/vllm_context.h"

namespace shardplan {
namespace {

using testing_support::VllmContext;

double Relative(Bytes got, double want) {
  return std::abs(static_cast<double>(got.count()) - want) / want;
}

// Against a second implementation of the same derivation, over layouts, batch sizes and cards.
TEST(VllmActivations, AgreeWithTheReferenceModel) {
  std::ifstream in(std::string(SHARDPLAN_TEST_DATA) + "/vllm/activations.tsv");
  int checked = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('#')) continue;
    SCOPED_TRACE(line);
    std::istringstream fields(line);
    std::string model, binding;
    int64_t tp, pp, stage, tokens, seqs;
    int eager, text, capability;
    double low, central, high;
    fields >> model >> tp >> pp >> stage >> tokens >> seqs >> eager >> text >> capability >> low >>
        central >> high >> binding;
    VllmContext c(model);
    c.gpu().capability = capability;
    c.context.sizes.tp = tp;
    c.context.sizes.pp = pp;
    c.context.settings.max_num_batched_tokens = tokens;
    c.context.settings.max_num_seqs = seqs;
    c.context.settings.enforce_eager = eager != 0;
    c.context.settings.language_model_only = text != 0;
    c.Resolve();
    const vllm::ActivationPeak peak = vllm::ComputeActivations(c.context, stage);
    // The reference leaves buffers out that are made before the weights.
    const Bytes early = peak.input_embeddings;
    EXPECT_LT(Relative(peak.bytes.central - early, central), 1e-3) << peak.bytes.central.count();
    EXPECT_LT(Relative(peak.bytes.low - early, low), 1e-3) << peak.bytes.low.count();
    EXPECT_LT(Relative(peak.bytes.high - early, high), 1e-3) << peak.bytes.high.count();
    EXPECT_EQ(peak.binding, binding);
    ++checked;
  }
  EXPECT_GT(checked, 200);
}

// Dense layers may stand anywhere, not only before the mixtures.
TEST(VllmActivations, DenseLayersBetweenMixtures) {
  for (const int64_t dense : {-1, 40}) {
    VllmContext c("Qwen__Qwen3-30B-A3B");
    Architecture& a = c.spec().arch;
    a.moe.layer_is_moe.assign(48, true);
    if (dense >= 0) a.moe.layer_is_moe[static_cast<size_t>(dense)] = false;
    c.context.sizes.pp = 2;
    c.Resolve();
    for (const int64_t stage : {0, 1}) {
      bool found = false;
      for (const vllm::Phase& phase : vllm::ComputeActivations(c.context, stage).phases) {
        found |= phase.name == "dense_mlp";
      }
      EXPECT_EQ(found, dense >= 0 && stage == 1) << dense << " " << stage;
    }
  }
}

// The published deployment: 398.0 kB a token on stage 0, 527.0 on stage 1.
TEST(VllmActivations, KimiK3BytesPerToken) {
  VllmContext c("kimi-k3");
  c.context.sizes.tp = 8;
  c.context.sizes.pp = 2;
  c.context.settings.max_num_seqs = 1;
  c.context.settings.max_num_batched_tokens = 8192;
  c.context.settings.language_model_only = true;
  c.Resolve("48,45");
  const vllm::ActivationPeak first = vllm::ComputeActivations(c.context, 0);
  EXPECT_EQ(first.per_token, Bytes(398'016));
  EXPECT_EQ(first.binding, "moe_combine");
  EXPECT_EQ(first.flag, "--max-num-batched-tokens");
  EXPECT_EQ(vllm::ComputeActivations(c.context, 1).per_token, Bytes(527'040));
}

TEST(VllmActivations, ManySequencesMakeTheSamplerBind) {
  VllmContext c("dense-70b");
  c.context.sizes.tp = 8;
  c.context.settings.max_num_seqs = 8192;
  c.context.settings.max_num_batched_tokens = 8192;
  c.Resolve();
  const vllm::ActivationPeak peak = vllm::ComputeActivations(c.context, 0);
  EXPECT_EQ(peak.binding, "sampler");
  EXPECT_EQ(peak.flag, "--max-num-seqs");
}

TEST(VllmActivations, RangesAreOrdered) {
  for (const char* model : {"kimi-k3", "deepseek-v3", "kimi-k2", "dense-70b"}) {
    for (const int64_t tokens : {1, 512, 8192, 65'536}) {
      VllmContext c(model);
      c.context.sizes.tp = 8;
      c.context.sizes.pp = 4;
      c.context.settings.max_num_batched_tokens = tokens;
      c.context.settings.max_num_seqs = 1;
      c.Resolve();
      for (int64_t stage = 0; stage < 4; ++stage) {
        const Range r = vllm::ComputeActivations(c.context, stage).bytes;
        EXPECT_LE(r.low, r.central) << model << tokens;
        EXPECT_LE(r.central, r.high) << model << tokens;
      }
    }
  }
}

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
