#include "plan/layout_space.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

namespace shardplan {
namespace {

Architecture Moe(int64_t layers, int64_t experts) {
  Architecture arch;
  arch.attention.assign(static_cast<size_t>(layers), AttentionKind::kFull);
  arch.moe.experts = experts;
  return arch;
}

TEST(LayoutSpace, WholeNodesBeyondOne) {
  EXPECT_EQ(WorldSizes(1, 4), (std::vector<int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(WorldSizes(3, 4), (std::vector<int64_t>{1, 2, 3, 4, 8, 12}));
}

// All of them against five loops.
TEST(LayoutSpace, VllmEveryCombinationOnce) {
  using Key = std::tuple<int64_t, int64_t, int64_t, int64_t, bool>;
  for (const int64_t experts : {0, 8}) {
    std::set<Key> want;
    for (int64_t tp = 1; tp <= 16; ++tp) {
      for (int64_t pp = 1; pp <= 5; ++pp) {  // as many as layers
        for (int64_t dp = 1; dp <= 16; ++dp) {
          const int64_t world = tp * pp * dp;
          if (world > 8 && world != 16) continue;
          for (const int64_t dcp : {1, 2, 4, 8, 16}) {
            for (const bool whole : {false, true}) {
              if (tp % dcp != 0 || (whole && (experts == 0 || tp * dp == 1))) continue;
              want.insert({tp, pp, dp, dcp, whole});
            }
          }
        }
      }
    }
    std::set<Key> found;
    const std::vector<Deployment> all = LayoutsOf(Deployment(), {}, Moe(5, experts), 2, 8);
    for (const Deployment& d : all) {
      found.insert({d.sizes.tp, d.sizes.pp, d.sizes.dp, d.sizes.dcp, d.sizes.expert_parallel});
      EXPECT_EQ(d.nodes, d.sizes.world() > 8 ? 2 : 1);
      EXPECT_EQ(d.gpus_per_node, 8);
    }
    EXPECT_EQ(found, want);
    EXPECT_EQ(all.size(), want.size());  // none twice
  }
}

// What vLLM calls expert parallelism is a size of its own for SGLang: that of the group.
TEST(LayoutSpace, SglangExpertsOnEveryRank) {
  Deployment base;
  base.engine = "sglang";
  base.sizes.expert_parallel = true;
  const std::vector<Deployment> all = LayoutsOf(base, {}, Moe(5, 8), 1, 8);
  ASSERT_FALSE(all.empty());
  for (const Deployment& d : all) {
    EXPECT_EQ(d.sglang.ep_size, d.sizes.tp);
    EXPECT_FALSE(d.sizes.expert_parallel);
  }
}

TEST(LayoutSpace, GivenSizesStay) {
  Deployment base;
  base.sizes.tp = 4;
  base.sizes.expert_parallel = true;
  GivenSizes given;
  given.tp = given.experts = given.dcp = true;
  const std::vector<Deployment> all = LayoutsOf(base, given, Moe(60, 8), 2, 8);
  ASSERT_FALSE(all.empty());
  for (const Deployment& d : all) {
    EXPECT_EQ(d.sizes.tp, 4);
    EXPECT_EQ(d.sizes.dcp, 1);
    EXPECT_TRUE(d.sizes.expert_parallel);
  }
  given.pp = given.dp = true;
  base.sizes.dp = 2;
  EXPECT_EQ(LayoutsOf(base, given, Moe(60, 8), 2, 8).size(), 1u);
}

// Attention DP takes no further cards, replicas do; expert sizes divide TP.
TEST(LayoutSpace, Sglang) {
  Deployment base;
  base.engine = "sglang";
  int64_t inside = 0;
  int64_t replicas = 0;
  for (const Deployment& d : LayoutsOf(base, {}, Moe(60, 8), 2, 8)) {
    const bool attention = d.sglang.enable_dp_attention;
    EXPECT_EQ(d.sizes.tp % d.sglang.ep_size, 0);
    EXPECT_TRUE(!attention || d.sizes.tp % d.sizes.dp == 0);
    EXPECT_LE(d.sizes.tp * d.sizes.pp * (attention ? 1 : d.sizes.dp), 16);
    EXPECT_FALSE(d.sizes.expert_parallel);
    inside += attention;
    replicas += !attention && d.sizes.dp > 1;
  }
  EXPECT_GT(inside, 0);
  EXPECT_GT(replicas, 0);
  GivenSizes given;
  given.attention_dp = given.experts = true;
  for (const Deployment& d : LayoutsOf(base, given, Moe(60, 8), 2, 8)) {
    EXPECT_FALSE(d.sglang.enable_dp_attention);
    EXPECT_EQ(d.sglang.ep_size, 1);
  }
}

}  // namespace
}  // namespace shardplan
