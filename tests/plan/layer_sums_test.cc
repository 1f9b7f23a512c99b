#include "plan/layer_sums.h"

#include <gtest/gtest.h>

#include "support/plan_world.h"
#include "support/tiny_families.h"
#include "support/tiny_models.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::ExampleFromConfig;

std::vector<LayerSums> SumsOf(const nlohmann::json& config) {
  const ModelSpec spec = Build(config);
  return SumsOfLayers(spec.arch, spec.table);
}

TEST(LayerSumsTest, ADecoderSumsTwiceALayer) {
  for (const LayerSums& layer : SumsOf(testing_support::TinyDense())) {
    EXPECT_EQ(layer.attention, 32);
    EXPECT_EQ(layer.dense, 32);
    EXPECT_FALSE(layer.experts);
    EXPECT_FALSE(layer.shared_experts);
  }
}

TEST(LayerSumsTest, MixturesFollowDenseLayers) {
  const std::vector<LayerSums> layers = SumsOf(testing_support::TinyDeepseek());
  ASSERT_EQ(layers.size(), 5u);
  for (size_t i = 0; i < layers.size(); ++i) {
    EXPECT_EQ(layers[i].attention, 32);
    EXPECT_EQ(layers[i].dense, i < 2 ? 32 : 0);
    EXPECT_EQ(layers[i].experts, i >= 2);
    EXPECT_EQ(layers[i].shared_experts, i >= 2);
  }
}

TEST(LayerSumsTest, TwoAttentionsAndTwoMlpsInOneLayer) {
  for (const LayerSums& layer : SumsOf(testing_support::TinyLongcatFlash())) {
    EXPECT_EQ(layer.attention, 64);
    EXPECT_EQ(layer.dense, 64);
    EXPECT_TRUE(layer.experts);
  }
}

TEST(LayerSumsTest, AMambaSumsWhatItsTimeStepsNeedAsWell) {
  const nlohmann::json config = testing_support::TinyJamba();
  const ModelSpec spec = Build(config);
  const std::vector<LayerSums> layers = SumsOfLayers(spec.arch, spec.table);
  for (int64_t i = 0; i < spec.arch.layers(); ++i) {
    const bool mamba = spec.arch.attention[static_cast<size_t>(i)] == AttentionKind::kMamba1;
    EXPECT_EQ(layers[static_cast<size_t>(i)].attention,
              spec.arch.hidden +
                  (mamba ? spec.arch.mamba.time_step_rank + 2 * spec.arch.mamba.state : 0));
  }
}

TEST(LayerSumsTest, BlocksThatAreNoMixersSumOnce) {
  const ModelSpec spec = Build(testing_support::TinyNemotronH());
  for (const LayerSums& layer : SumsOfLayers(spec.arch, spec.table)) {
    EXPECT_EQ((layer.attention > 0) + (layer.dense > 0) + (layer.shared_dense > 0) + layer.experts,
              1);
  }
}

TEST(LayerSumsTest, KimiK3sBoundaryCarriesItsResidualBlocks) {
  const Architecture& k3 = ExampleFromConfig("kimi-k3").arch;
  EXPECT_EQ(BoundaryWidth(k3, 47), 7168 * (1 + 4));
  EXPECT_EQ(BoundaryWidth(k3, 48), 7168 * (1 + 4));
  EXPECT_EQ(BoundaryWidth(k3, 49), 7168 * (1 + 5));
  EXPECT_EQ(BoundaryWidth(ExampleFromConfig("deepseek-v3").arch, 30), 7168 * 2);
  const ModelSpec v4 = Build(testing_support::TinyDeepseekV4());
  EXPECT_EQ(BoundaryWidth(v4.arch, 1), v4.arch.hidden * v4.arch.residual_streams);
}

TEST(LayerSumsTest, ABoundaryIsSentInPartsAndGathered) {
  NodePlacement place;
  place.gpus_per_node = place.ranks_per_node = 4;
  const TrafficWorld world = WorldOf(GpuSpec(), place, 8);
  TrafficCounter counter(world);
  CountBoundary(0, 4, 4, 4, 1000, &counter);
  StepTraffic step = counter.Finish(1, LinkRates(), {});
  EXPECT_EQ(step.sent.network, Bytes(1000));     // four quarters
  EXPECT_EQ(step.sent.inside, Bytes(3 * 1000));  // three quarters to each of four
  TrafficCounter pairs(world);
  CountBoundary(0, 4, 4, 2, 1000, &pairs);
  step = pairs.Finish(1, LinkRates(), {});
  EXPECT_EQ(step.sent.network, Bytes(2 * 1000));
  TrafficCounter whole(world);
  CountBoundary(0, 4, 4, 1, 1000, &whole);
  step = whole.Finish(1, LinkRates(), {});
  EXPECT_EQ(step.sent.network, Bytes(4 * 1000));
  EXPECT_EQ(step.sent.inside, Bytes());
}

TEST(LayerSumsTest, QuantizedRowsAreSmaller) {
  EXPECT_EQ(DispatchedBytes("", 256), 512);
  EXPECT_EQ(DispatchedBytes("mxfp4", 256), 512);
  EXPECT_EQ(DispatchedBytes("fp8", 7168), 7168 + 4 * 56);
  EXPECT_EQ(DispatchedBytes("nvfp4", 7168), 3584 + 448);
}

}  // namespace
}  // namespace shardplan
