#include "model/families/deepseek_v4_table.h"

#include <gtest/gtest.h>

namespace shardplan {
namespace {

Architecture TwoLayers() {
  Architecture a;
  a.hidden = 32;
  a.vocabulary = 128;
  a.heads = 8;
  a.head_dim = 16;
  a.mla.q_lora_rank = 12;
  a.attention.assign(2, AttentionKind::kMla);
  a.compress_ratio = {0, 4};
  a.residual_streams = 2;
  a.indexer = {4, 8, 2};
  a.moe.experts = 4;
  a.moe.top_k = 2;
  a.moe.intermediate = a.moe.shared_intermediate = 16;
  return a;
}

// Every module of the stack once, and again in each MTP module, which has no indexer.
TEST(DeepseekV4Table, DraftModulesAreOutsideTheStackAndOptional) {
  const Architecture a = TwoLayers();
  const families::V4Shape shape = {8, 2, 1, {}, {}, {}};
  TensorTable none, two;
  families::AddDeepseekV4(&none, a, shape, 0);
  families::AddDeepseekV4(&two, a, shape, 2);
  int64_t drafts = 0;
  for (size_t i = none.rows.size(); i < two.rows.size(); ++i) {
    const ModuleRow& row = two.rows[i];
    EXPECT_TRUE(row.name.starts_with(
        drafts * 2 < static_cast<int64_t>(two.rows.size() - none.rows.size()) ? "mtp.0."
                                                                              : "mtp.1."))
        << row.name;
    EXPECT_EQ(row.role, Role::kDraft);
    EXPECT_EQ(row.placement, Placement::kNotLoaded);
    EXPECT_TRUE(row.optional);
    EXPECT_TRUE(row.layers.empty());
    ++drafts;
  }
  EXPECT_EQ(drafts % 2, 0);
  EXPECT_GT(drafts, 40);
}

TEST(DeepseekV4Table, EntriesOfFourTokensHaveBothHalves) {
  Architecture a = TwoLayers();
  a.compress_ratio = {4, 128};
  TensorTable table;
  families::AddDeepseekV4(&table, a, {8, 2, 0, {}, {}, {}}, 0);
  int found = 0;
  for (const ModuleRow& row : table.rows) {
    if (row.name != "layers.{L}.attn.compressor.wkv") continue;
    EXPECT_EQ(row.shape, row.layers.Contains(0) ? (Shape{32, 32}) : (Shape{16, 32}));
    ++found;
  }
  EXPECT_EQ(found, 2);
}

// Mixing weights: into and out of a block, and from each of two streams to each.
TEST(DeepseekV4Table, HyperConnectionsCountTheStreams) {
  TensorTable table;
  families::AddDeepseekV4(&table, TwoLayers(), {8, 2, 1, {}, {}, {}}, 0);
  for (const ModuleRow& row : table.rows) {
    if (row.name == "layers.{L}.hc_attn_fn") {
      EXPECT_EQ(row.shape, (Shape{8, 64}));
    }
    if (row.name == "hc_head_fn") {
      EXPECT_EQ(row.shape, (Shape{2, 64}));
      EXPECT_EQ(row.placement, Placement::kEveryStage);
      EXPECT_EQ(row.role, Role::kHyperConnection);
    }
  }
}

}  // namespace
}  // namespace shardplan
