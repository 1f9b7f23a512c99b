#include "plan/sglang/evaluate.h"

#include <gtest/gtest.h>

#include "engine/sglang/weights.h"
#include "shardplan/base/units.h"
#include "support/sglang_world.h"

namespace shardplan {
namespace {

using testing_support::BaselineKimiK3;
using testing_support::ExampleFromConfig;
using testing_support::OnSglang;
using testing_support::SglangEnvironmentFor;

struct EvaluateWorld {
  explicit EvaluateWorld(const std::string& example, const Deployment& d)
      : model(ExampleFromConfig(example)), env(SglangEnvironmentFor(model, d)) {
    const Status status = PrepareSglang(env, d, &p);
    EXPECT_TRUE(status && p.legal);
    auto made = EvaluateSglang(p, model);
    EXPECT_TRUE(made.has_value());
    if (made) e = std::move(*made);
  }
  const Model& model;
  SglangEnvironment env;
  SglangPrepared p;
  SglangEvaluation e;
};

TEST(SglangEvaluate, FreeMemoryIsTheCardLessItsContextAndCommunicators) {
  const EvaluateWorld w("kimi-k3", BaselineKimiK3());
  const Range& visible = w.p.gpu.cuda_visible.bytes;
  EXPECT_LT(w.e.before.low, w.e.before.central);
  EXPECT_LT(w.e.before.central, visible.central);
  EXPECT_EQ(w.e.after.central, w.e.before.central - w.e.stages[0].weights.central);
  // Cheap ends leave the most.
  EXPECT_GE(w.e.low.tokens, w.e.central.tokens);
  EXPECT_LE(w.e.high.tokens, w.e.central.tokens);
}

TEST(SglangEvaluate, AMeasuredFreeMemorySettlesIt) {
  Deployment d = BaselineKimiK3();
  d.sglang.free_before_load = Gibibytes(138.1).ToBytes();
  const EvaluateWorld w("kimi-k3", d);
  EXPECT_EQ(w.e.before.low, w.e.before.high);
  EXPECT_EQ(w.e.before.central, Gibibytes(138.1).ToBytes());
  EXPECT_EQ(w.e.low.tokens, w.e.high.tokens);
  // The rows of a rank still sum up to what CUDA sees.
  Bytes begin;
  for (const Entry& entry : w.e.stages[0].entries) {
    if (entry.account == Account::kCudaContext) begin += entry.bytes.central;
    if (entry.account == Account::kCommunication && entry.basis == Basis::kMeasured) {
      begin += entry.bytes.central;
    }
  }
  EXPECT_EQ(begin + *d.sglang.free_before_load, w.p.gpu.cuda_visible.bytes.central);
}

// The fullest stage sizes everyone's pools.
TEST(SglangEvaluate, StagesShareTheLeastMemory) {
  Deployment d = OnSglang("b200-180", 8, 2);
  d.sglang.context_length = 32'768;
  const EvaluateWorld w("kimi-k3", d);
  ASSERT_EQ(w.e.stages.size(), 2u);
  EXPECT_NE(w.e.stages[0].weights.central, w.e.stages[1].weights.central);
  EXPECT_EQ(w.e.after.central, w.e.before.central - std::max(w.e.stages[0].weights.central,
                                                             w.e.stages[1].weights.central));
  // 95.1 and 99.0 GiB, as the formulas at 0bda0b168 give them.
  EXPECT_NEAR(InGiB(w.e.stages[0].weights.central).value(), 95.1, .1);
  EXPECT_NEAR(InGiB(w.e.stages[1].weights.central).value(), 99.0, .1);
}

TEST(SglangEvaluate, DetailSplitsTheWeights) {
  const EvaluateWorld w("deepseek-v3", OnSglang("h200-141", 8));
  const SglangStage& s = w.e.stages[0];
  EXPECT_GT(s.detail.post_load, Bytes());  // w_kc and w_vc
  EXPECT_EQ(s.detail.parameters + s.detail.buffers + s.detail.post_load, s.weights.central);
  EXPECT_EQ(s.weights.central, sglang::WeightsByStage(w.p.context, w.p.stages)[0]);
}

TEST(SglangEvaluate, OffloadLeavesCopiesOutside) {
  Deployment d = OnSglang("h20-141", 8);
  d.sglang.offload_group_size = 4;
  const EvaluateWorld w("deepseek-v3", d);
  const SglangStage& s = w.e.stages[0];
  EXPECT_GT(s.offload.bytes, Bytes());
  EXPECT_EQ(s.detail.parameters + s.detail.buffers + s.detail.post_load - s.offload.bytes,
            s.weights.central);
  Bytes copies;
  for (const Entry& entry : s.entries) {
    if (entry.source == "copies of offloaded layers while they run") copies = entry.bytes.central;
  }
  EXPECT_EQ(copies, s.offload.on_card);
}

}  // namespace
}  // namespace shardplan
