#include "shardplan/model/architecture.h"

#include <gtest/gtest.h>

namespace shardplan {
namespace {

TEST(Architecture, CountsKindsInAStage) {
  Architecture arch;
  arch.attention = {AttentionKind::kKda, AttentionKind::kKda, AttentionKind::kMla,
                    AttentionKind::kKda};
  EXPECT_EQ(arch.layers(), 4);
  EXPECT_EQ(arch.CountKind(AttentionKind::kKda, 0, 4), 3);
  EXPECT_EQ(arch.CountKind(AttentionKind::kKda, 2, 2), 1);
  EXPECT_EQ(arch.CountKind(AttentionKind::kMla, 0, 2), 0);
  EXPECT_TRUE(arch.has_kind(AttentionKind::kMla));
  EXPECT_FALSE(arch.has_kind(AttentionKind::kFull));
  EXPECT_TRUE(arch.is_hybrid());
}

TEST(Architecture, PureStacksAreNoHybrids) {
  Architecture arch;
  arch.attention = {AttentionKind::kMla, AttentionKind::kMla};
  EXPECT_FALSE(arch.is_hybrid());
  arch.attention = {AttentionKind::kKda};
  EXPECT_FALSE(arch.is_hybrid());
}

TEST(Architecture, MoeBeginsAfterTheDenseLayers) {
  Architecture arch;
  arch.attention.resize(4);
  EXPECT_FALSE(arch.is_moe(3));
  arch.moe.experts = 8;
  arch.moe.first_dense = 2;
  EXPECT_FALSE(arch.is_moe(1));
  EXPECT_TRUE(arch.is_moe(2));
}

}  // namespace
}  // namespace shardplan
