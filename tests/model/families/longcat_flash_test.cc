#include <gtest/gtest.h>

#include <algorithm>

#include "support/example_model.h"
#include "support/model_rows.h"
#include "support/tiny_families.h"
#include "support/tiny_models.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::BuildError;
using testing_support::ExampleConfig;
using testing_support::RowNamed;
using testing_support::TinyLongcatFlash;
using testing_support::With;

TEST(LongcatFlash, LayersAttendTwiceBesideAMixture) {
  const ModelSpec spec = Build(ExampleConfig("meituan-longcat__LongCat-Flash-Chat"));
  EXPECT_EQ(spec.arch.family, "longcat-flash");
  EXPECT_EQ(spec.arch.layers(), 28);
  EXPECT_EQ(spec.arch.attentions_per_layer, 2);
  EXPECT_TRUE(spec.arch.is_moe(0));
  EXPECT_TRUE(spec.arch.moe.dense_beside);
  for (const char* name : {"self_attn.0.q_a_proj", "self_attn.1.q_a_proj"}) {
    const ModuleRow* row = RowNamed(spec, std::string("model.layers.{L}.") + name);
    ASSERT_NE(row, nullptr) << name;
    EXPECT_EQ(row->shape, (Shape{1536, 6144}));
  }
  EXPECT_EQ(RowNamed(spec, "model.layers.{L}.self_attn.1.kv_a_proj_with_mqa")->param,
            "self_attn.1.fused_qkv_a_proj");
  EXPECT_EQ(RowNamed(spec, "model.layers.{L}.mlps.1.up_proj")->param, "mlps.1.gate_up_proj");
  EXPECT_EQ(RowNamed(spec, "model.layers.{L}.input_layernorm.1.weight")->shape, (Shape{6144}));
}

TEST(LongcatFlash, RoutersChooseAmongExpertsWithoutWeights) {
  const ModelSpec spec = Build(TinyLongcatFlash());
  const ModuleRow* router = RowNamed(spec, "model.layers.{L}.mlp.router.classifier");
  EXPECT_EQ(router->shape, (Shape{16, 32}));
  EXPECT_EQ(router->device_dtype, DType::kF32);
  EXPECT_EQ(RowNamed(spec, "model.layers.{L}.mlp.router.e_score_correction_bias")->shape,
            (Shape{16}));
  EXPECT_EQ(RowNamed(spec, "model.layers.{L}.mlp.experts.{E}.up_proj")->experts, 12);
}

TEST(LongcatFlash, DraftStandsBesideTheStack) {
  const auto drafts = [](const ModelSpec& spec) {
    return std::count_if(spec.table.rows.begin(), spec.table.rows.end(),
                         [](const ModuleRow& row) { return row.role == Role::kDraft; });
  };
  const ModelSpec spec = Build(TinyLongcatFlash());
  EXPECT_EQ(spec.arch.mtp_layers, 1);
  EXPECT_NE(RowNamed(spec, "model.mtp.layers.{L}.enorm.m.weight"), nullptr);
  EXPECT_NE(RowNamed(spec, "model.mtp.embed_tokens.weight"), nullptr);
  Assumptions shared;
  shared.mtp_embed = false;
  EXPECT_EQ(drafts(Build(TinyLongcatFlash(), shared)), drafts(spec) - 1);
  Assumptions none;
  none.mtp = false;
  EXPECT_EQ(drafts(Build(TinyLongcatFlash(), none)), 0);
}

TEST(LongcatFlash, Refusals) {
  EXPECT_EQ(BuildError(With(TinyLongcatFlash(), {{"attention_bias", true}})),
            "config.json: attention_bias: expected false: no bias is modelled");
  EXPECT_EQ(BuildError(With(TinyLongcatFlash(), {{"disable_quant_module", {"self_attn"}}})),
            "config.json: disable_quant_module: modules left out of the quantization are not "
            "modelled");
  EXPECT_EQ(BuildError(With(TinyLongcatFlash(), {{"moe_topk", 13}})),
            "config.json: moe_topk: more experts a token than experts");
}

}  // namespace
}  // namespace shardplan
