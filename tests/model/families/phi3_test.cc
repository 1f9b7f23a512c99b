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
using testing_support::TinyPhi3;
using testing_support::With;

TEST(Phi3, StoresItsProjectionsFused) {
  const ModelSpec spec = Build(ExampleConfig("phi-4"));
  EXPECT_EQ(spec.arch.family, "phi3");
  EXPECT_EQ(spec.arch.head_dim, 128);
  const ModuleRow* qkv = RowEnding(spec, "self_attn.qkv_proj");
  ASSERT_NE(qkv, nullptr);
  EXPECT_EQ(qkv->shape, (Shape{60 * 128, 5120}));
  ASSERT_EQ(qkv->parts.size(), 3u);
  EXPECT_EQ(qkv->parts[0].rows, 40 * 128);
  EXPECT_EQ(qkv->parts[2].split, Split::kKvHeads);
  EXPECT_EQ(RowEnding(spec, "mlp.gate_up_proj")->shape, (Shape{2 * 17920, 5120}));
}

TEST(Phi3, AWindowHoldsForEveryLayer) {
  EXPECT_FALSE(Build(TinyPhi3()).arch.has_kind(AttentionKind::kSliding));
  const Architecture a = Build(With(TinyPhi3(), {{"sliding_window", 16}})).arch;
  EXPECT_EQ(a.CountKind(AttentionKind::kSliding, 0, 5), 5);
  EXPECT_EQ(a.window, 16);
}

TEST(Phi3, LongRopeKeepsTwoTables) {
  const nlohmann::json longrope = {{"rope_scaling", {{"type", "longrope"}}},
                                   {"original_max_position_embeddings", 1024}};
  EXPECT_EQ(Build(With(TinyPhi3(), longrope)).arch.rotary.positions, 4096 + 1024);
}

TEST(Phi3, Refusals) {
  EXPECT_EQ(BuildError(With(TinyPhi3(), {{"attention_bias", true}})),
            "config.json: attention_bias: expected false: no bias is modelled");
}

}  // namespace
}  // namespace shardplan
