#include "plan/load_peak.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/vllm/prefetch.h"
#include "engine/vllm/weights.h"
#include "shardplan/base/units.h"
#include "support/plan_world.h"

namespace shardplan {
namespace {

using ::testing::HasSubstr;
using testing_support::EnvironmentFor;
using testing_support::Evaluate;
using testing_support::ExampleFromConfig;
using testing_support::FindFinding;
using testing_support::PublishedKimiK3;

LoadTransient Transient(const Model& model, const Deployment& d) {
  const Environment env = EnvironmentFor(model, d);
  Prepared p;
  EXPECT_TRUE(Prepare(env, d, &p).has_value());
  const DeviceWeights weights =
      ComputeDeviceWeights(*p.context.arch, *p.table, vllm::RulesFor(p.context, 0));
  const vllm::Offload offload =
      vllm::WalkOffload(weights, p.context.stages.front(), p.context.settings);
  return LargestTransient(p, model, weights, 0, offload);
}

// A rank's w13 of one layer, repacked for Marlin; with offload a whole layer of both comes back.
TEST(LoadPeak, OffloadedLayersComeBack) {
  const Model& model = ExampleFromConfig("kimi-k3");
  Deployment d = PublishedKimiK3();
  LoadTransient t = Transient(model, d);
  EXPECT_EQ(t.bytes.central, Bytes(1'849'688'064));
  EXPECT_EQ(t.bytes.high, Bytes(int64_t{1'849'688'064} + int64_t{2} * 1'233'125'376));
  EXPECT_THAT(t.reason, HasSubstr("an offloaded layer of 1.72 GiB comes back"));
  d.settings.cpu_offload_gb = 0;
  t = Transient(model, d);
  EXPECT_EQ(t.bytes.central, Bytes(1'233'125'376));
  EXPECT_THAT(t.reason, HasSubstr("w13_weight of 1.15 GiB is copied into its kernel's layout"));
  d.settings.offload_backend = "prefetch";
  d.settings.offload_group_size = 8;
  EXPECT_THAT(Transient(model, d).reason, HasSubstr("an offloaded layer"));
}

TEST(LoadPeak, PlainWeightsNeedNoSecondCopy) {
  Deployment d;
  d.gpu = "h100-80-sxm";
  d.sizes.tp = 4;
  EXPECT_EQ(Transient(ExampleFromConfig("dense-70b"), d).bytes.high, Bytes());
}

// Whole files on the card, from the headers where they are there.
TEST(LoadPeak, FastsafetensorsStagesWholeFiles) {
  Deployment d;
  d.gpu = "h100-80-sxm";
  d.sizes.tp = 4;
  d.settings.load_format = "fastsafetensors";
  Model model = ExampleFromConfig("dense-70b");
  LoadTransient t = Transient(model, d);
  EXPECT_EQ(t.bytes.low, Bytes());
  EXPECT_EQ(t.bytes.central, Bytes(5'000'000'000));
  EXPECT_THAT(t.reason, HasSubstr("where the files are as usual"));
  ShardInfo shard;
  shard.file_bytes = Bytes(20 * kGiB);
  model.inventory.shards = {shard, ShardInfo()};
  t = Transient(model, d);
  EXPECT_EQ(t.bytes.low, Bytes(20 * kGiB));
  EXPECT_EQ(t.bytes.central, Bytes(20 * kGiB));
  EXPECT_EQ(t.bytes.high, Bytes(40 * kGiB));
  d.settings.load_format = "safetensors";
  EXPECT_EQ(Transient(model, d).bytes.high, Bytes());
}

// Fits once it runs, and dies while it loads: a verdict of its own.
TEST(LoadPeak, AloneMakesAPlanNotFit) {
  Deployment d;
  d.gpu = "h100-80-sxm";
  d.sizes.tp = 4;
  d.settings.max_model_len = 4096;
  d.settings.max_num_seqs = 8;
  Model model = ExampleFromConfig("dense-70b");
  ShardInfo shard;
  shard.file_bytes = Bytes(50 * kGiB);
  model.inventory.shards = {shard};
  EXPECT_EQ(Evaluate(model, d).verdict, Verdict::kFits);
  d.settings.load_format = "fastsafetensors";
  const Plan plan = Evaluate(model, d);
  EXPECT_EQ(plan.verdict, Verdict::kDoesNotFit);
  ASSERT_TRUE(plan.limiting.has_value());
  EXPECT_EQ(plan.limiting->account, Account::kWeights);
  EXPECT_EQ(plan.limiting->short_by, plan.ranks[0].load_peak - plan.ranks[0].capacity);
  const Finding* finding = FindFinding(plan, "fit.load_peak");
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->message,
              HasSubstr("fastsafetensors stages a whole shard file of 50.00 GiB on the card"));
  EXPECT_THAT(finding->fix, HasSubstr("--load-format safetensors"));
  shard.file_bytes = Bytes(10 * kGiB);
  model.inventory.shards = {shard};
  const Plan small = Evaluate(model, d);
  EXPECT_EQ(small.verdict, Verdict::kFits);
  EXPECT_NE(FindFinding(small, "load.staging"), nullptr);
}

TEST(LoadPeak, KnowsTheEnginesFormats) {
  EngineSettings s;
  EXPECT_TRUE(CheckLoadFormat(s));
  s.load_format = "runai_streamer";
  EXPECT_TRUE(CheckLoadFormat(s));
  s.load_format = "x";
  EXPECT_FALSE(CheckLoadFormat(s));
}

}  // namespace
}  // namespace shardplan
