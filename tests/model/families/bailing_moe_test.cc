#include <gtest/gtest.h>

#include "support/example_model.h"
#include "support/model_rows.h"
#include "support/tiny_families.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::BuildError;
using testing_support::RowEnding;
using testing_support::TinyBailingMoe;
using testing_support::With;

TEST(BailingMoe, FusedAttentionAndSharedExperts) {
  const ModelSpec spec = Build(TinyBailingMoe());
  EXPECT_EQ(spec.arch.family, "bailing-moe");
  EXPECT_EQ(spec.arch.moe.shared_intermediate, 48);
  EXPECT_FALSE(spec.arch.is_moe(0));
  const ModuleRow* qkv = RowEnding(spec, "attention.query_key_value");
  EXPECT_EQ(qkv->shape, (Shape{(8 + 2 + 2) * 8, 32}));
  EXPECT_TRUE(qkv->bias);
  EXPECT_FALSE(RowEnding(spec, "attention.dense")->bias);
  EXPECT_EQ(RowEnding(spec, "mlp.gate")->device_dtype, DType::kBF16);
  EXPECT_EQ(RowEnding(Build(With(TinyBailingMoe(), {{"router_dtype", "fp32"}})), "mlp.gate")
                ->device_dtype,
            DType::kF32);
}

TEST(BailingMoe, Refusals) {
  EXPECT_EQ(BuildError(With(TinyBailingMoe(), {{"use_bias", true}})),
            "config.json: use_bias: expected false: no bias is modelled");
  EXPECT_EQ(BuildError(With(TinyBailingMoe(), {{"use_qk_norm", true}})),
            "config.json: use_qk_norm: expected false, and no expert bias: that is version 2");
}

}  // namespace
}  // namespace shardplan
