#include <gtest/gtest.h>

#include "support/example_model.h"
#include "support/model_rows.h"
#include "support/tiny_families.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::BuildError;
using testing_support::ExampleConfig;
using testing_support::RowEnding;
using testing_support::TinyMimoV2Flash;
using testing_support::With;

TEST(MimoV2Flash, SlidingLayersHaveHeadsOfTheirOwn) {
  const Architecture a = Build(ExampleConfig("mimo-v2-flash")).arch;
  EXPECT_EQ(a.CountKind(AttentionKind::kSliding, 0, 48), 39);
  EXPECT_EQ(a.KvOf(0).kv_heads, 4);
  EXPECT_EQ(a.KvOf(1).kv_heads, 8);
  EXPECT_EQ(a.KvOf(1).v_head_dim, 128);
  EXPECT_EQ(a.head_dim, 192);
  EXPECT_EQ(a.window, 128);
  EXPECT_EQ(a.rotary.dim, 64);  // a third of a head, rounded down
  EXPECT_EQ(a.rotary.other_dim, 64);
  EXPECT_FALSE(a.is_moe(0));
}

TEST(MimoV2Flash, SinksAreTheSlidingLayers) {
  const ModelSpec spec = Build(TinyMimoV2Flash());
  const ModuleRow* sinks = RowEnding(spec, "attention_sink_bias");
  ASSERT_NE(sinks, nullptr);
  EXPECT_EQ(sinks->layers.layers(), (std::vector<int64_t>{1, 2, 4}));
  EXPECT_EQ(RowEnding(Build(With(TinyMimoV2Flash(), {{"add_swa_attention_sink_bias", false}})),
                      "attention_sink_bias"),
            nullptr);
}

TEST(MimoV2Flash, TheRouterIsInFp32OnTheCard) {
  const ModelSpec spec = Build(TinyMimoV2Flash());
  EXPECT_EQ(RowEnding(spec, "mlp.gate")->device_dtype, DType::kF32);
  EXPECT_FALSE(RowEnding(spec, "mlp.gate")->quantizable);
}

// The MTP layer that vLLM loads: dense, with the heads of the sliding layers, plain where it joins.
TEST(MimoV2Flash, TheFirstMtpLayer) {
  const ModelSpec spec = Build(TinyMimoV2Flash());
  EXPECT_EQ(spec.arch.mtp_attention, AttentionKind::kSliding);
  const std::string p = "model.mtp.layers.{L}.";
  const ModuleRow* const join = RowEnding(spec, p + "eh_proj");
  ASSERT_NE(join, nullptr);
  EXPECT_EQ(join->shape, (Shape{32, 64}));
  EXPECT_FALSE(join->quantizable);
  EXPECT_TRUE(join->optional);
  EXPECT_EQ(join->placement, Placement::kNotLoaded);
  EXPECT_EQ(RowEnding(spec, p + "self_attn.k_proj")->shape, (Shape{4 * 8, 32}));
  EXPECT_EQ(RowEnding(spec, p + "self_attn.attention_sink_bias")->shape, (Shape{8}));
  EXPECT_EQ(RowEnding(spec, p + "mlp.gate_proj")->shape, (Shape{64, 32}));
  Assumptions none;
  none.mtp = false;
  EXPECT_EQ(RowEnding(Build(TinyMimoV2Flash(), none), p + "eh_proj"), nullptr);
}

TEST(MimoV2Flash, Refusals) {
  EXPECT_EQ(BuildError(With(TinyMimoV2Flash(), {{"moe_layer_freq", {0, 1}}})),
            "config.json: moe_layer_freq: expected one entry a layer");
  EXPECT_EQ(BuildError(With(TinyMimoV2Flash(), {{"swa_num_attention_heads", 4}})),
            "config.json: swa_num_attention_heads: expected as many as num_attention_heads");
  EXPECT_EQ(BuildError(With(TinyMimoV2Flash(), {{"n_shared_experts", 1}})),
            "config.json: n_shared_experts: expected none: no shared expert is modelled");
}

}  // namespace
}  // namespace shardplan
