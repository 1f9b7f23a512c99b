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
using testing_support::TinyJamba;
using testing_support::With;

TEST(Jamba, LayersByPeriodAndOffset) {
  const Architecture a = Build(ExampleConfig("jamba2-mini")).arch;
  EXPECT_EQ(a.CountKind(AttentionKind::kFull, 0, 32), 4);
  EXPECT_EQ(a.attention[4], AttentionKind::kFull);
  EXPECT_EQ(a.attention[0], AttentionKind::kMamba1);
  EXPECT_TRUE(a.is_moe(1));
  EXPECT_FALSE(a.is_moe(2));
  EXPECT_EQ(a.rotary.dim, 0);
  EXPECT_EQ(a.mamba.width, 8192);
  EXPECT_EQ(a.mamba.heads, 0);
  EXPECT_EQ(a.mamba.state_dtype, std::nullopt);
}

TEST(Jamba, TheTimeStepRankMayBeAutomatic) {
  EXPECT_EQ(Build(TinyJamba()).arch.mamba.time_step_rank, 2);  // 32 ÷ 16
  EXPECT_EQ(Build(With(TinyJamba(), {{"mamba_dt_rank", 5}})).arch.mamba.time_step_rank, 5);
}

TEST(Jamba, WhatMambaKeepsInFp32) {
  const ModelSpec spec = Build(TinyJamba());
  EXPECT_EQ(RowEnding(spec, "mamba.A_log")->device_dtype, DType::kF32);
  EXPECT_EQ(RowEnding(spec, "mamba.A_log")->param, "mamba.A");
  EXPECT_EQ(RowEnding(spec, "mamba.D")->device_dtype, DType::kBF16);
  EXPECT_TRUE(RowEnding(spec, "mamba.dt_proj")->bias);
  EXPECT_FALSE(RowEnding(spec, "mamba.in_proj")->quantizable);
}

TEST(Jamba, OneExpertIsAnMlp) {
  const ModelSpec spec = Build(With(TinyJamba(), {{"num_experts", 1}, {"num_experts_per_tok", 1}}));
  EXPECT_EQ(spec.arch.moe.experts, 0);
  EXPECT_EQ(RowEnding(spec, "feed_forward.router"), nullptr);
  EXPECT_EQ(RowEnding(spec, "feed_forward.gate_proj")->layers.size(), 6);
}

TEST(Jamba, Refusals) {
  EXPECT_EQ(BuildError(With(TinyJamba(), {{"sliding_window", 16}})),
            "config.json: sliding_window: sliding-window layers are not modelled");
}

}  // namespace
}  // namespace shardplan
