#include "plan/traffic_counter.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>

#include "support/traffic_wire.h"

namespace shardplan {
namespace {

using testing_support::Wire;
using Rules = std::array<std::string, kTrafficKinds>;

TrafficWorld CounterWorld(int64_t ranks, int64_t per_node) {
  NodePlacement place;
  place.gpus_per_node = place.ranks_per_node = per_node;
  return WorldOf(GpuSpec(), place, ranks);
}

LinkRates Rates() {
  LinkRates rates;
  rates.network = {1, 1, 1, Basis::kDerived, ""};
  rates.nvlink = LinkRate{10, 10, 10, Basis::kDerived, ""};
  return rates;
}

std::vector<int64_t> RanksOf(const RankGroup& group) {
  std::vector<int64_t> ranks;
  for (int64_t i = 0; i < group.size(); ++i) ranks.push_back(group.rank(i));
  return ranks;
}

TEST(TrafficCounterTest, GroupsAreRunsOfNeighbours) {
  EXPECT_EQ(RanksOf({4, 2, 3, 8}), (std::vector<int64_t>{4, 5, 12, 13, 20, 21}));
  EXPECT_EQ(RanksOf({3, 1, 2, 4}), (std::vector<int64_t>{3, 7}));
}

TEST(TrafficCounterTest, CollectivesEqualARingThatIsWalkedStepByStep) {
  constexpr double kBytes = 5040 * 1000;
  int worlds = 0;
  for (const int64_t per_node : {1, 2, 3, 4, 8}) {
    for (int64_t ranks = 2; ranks <= 12; ++ranks) {
      const TrafficWorld world = CounterWorld(ranks, per_node);
      for (const RankGroup& group :
           {RankGroup{0, ranks, 1, 0}, RankGroup{ranks % 2, 1, ranks / 2, 2},
            RankGroup{0, 2, ranks / 4, 4}, RankGroup{ranks - 1, 1, 1, 0}}) {
        TrafficCounter all(world), half(world), other(world);
        Wire whole(world), one(world);
        all.AllReduce(TrafficKind::kTensorParallel, group, kBytes);
        half.AllGather(TrafficKind::kTensorParallel, group, kBytes);
        other.ReduceScatter(TrafficKind::kTensorParallel, group, kBytes);
        if (group.size() > 1) {
          whole.Ring(RanksOf(group), kBytes, 2);
          one.Ring(RanksOf(group), kBytes, 1);
        }
        whole.Expect(all.Finish(1, Rates(), Rules()));
        one.Expect(half.Finish(1, Rates(), Rules()));
        one.Expect(other.Finish(1, Rates(), Rules()));
        ++worlds;
      }
    }
  }
  EXPECT_EQ(worlds, 220);
}

// Every way to choose `top_k` of `experts`.
void ForEachChoice(int64_t experts, int64_t top_k,
                   const std::function<void(const std::set<int64_t>&)>& visit) {
  std::set<int64_t> chosen;
  const std::function<void(int64_t)> go = [&](int64_t from) {
    if (static_cast<int64_t>(chosen.size()) == top_k) return visit(chosen);
    for (int64_t e = from; e < experts; ++e) {
      chosen.insert(e);
      go(e + 1);
      chosen.erase(e);
    }
  };
  go(0);
}

// The rank, by its place in the group, that holds an expert.
int64_t HolderOf(int64_t expert, int64_t experts, int64_t ranks) {
  for (int64_t rank = 0; rank < ranks; ++rank) {
    expert -= experts / ranks + (rank < experts % ranks ? 1 : 0);
    if (expert < 0) return rank;
  }
  return ranks - 1;
}

TEST(TrafficCounterTest, ExpertsEqualTheMeanOfAllChoices) {
  constexpr double kTokens = 1000, kDispatch = 100, kCombine = 300;
  for (const int64_t per_node : {1, 2, 4}) {
    for (const int64_t ranks : {2, 3, 4, 6, 8}) {
      for (const auto& choice :
           std::vector<std::pair<int64_t, int64_t>>{{8, 1}, {8, 2}, {9, 3}, {10, 4}, {8, 8}}) {
        // Not a structured binding: clang 14 lets no lambda capture one.
        const int64_t experts = choice.first, top_k = choice.second;
        const TrafficWorld world = CounterWorld(ranks, per_node);
        const RankGroup group = {0, ranks, 1, 0};
        for (const ExpertDelivery delivery :
             {ExpertDelivery::kPerExpert, ExpertDelivery::kPerRank, ExpertDelivery::kPerDomain}) {
          double choices = 0;
          ForEachChoice(experts, top_k, [&](const std::set<int64_t>&) { ++choices; });
          Wire wire(world);
          const auto move = [&](int64_t from, int64_t to) {
            wire.Send(from, to, kTokens * kDispatch / choices);
            wire.Send(to, from, kTokens * kCombine / choices);
          };
          ForEachChoice(experts, top_k, [&](const std::set<int64_t>& chosen) {
            for (int64_t from = 0; from < ranks; ++from) {
              std::set<int64_t> holders;
              std::map<int64_t, std::set<int64_t>> of_node;
              for (const int64_t expert : chosen) {
                const int64_t holder = HolderOf(expert, experts, ranks);
                if (delivery == ExpertDelivery::kPerExpert) move(from, holder);
                holders.insert(holder);
                of_node[holder / per_node].insert(holder);
              }
              if (delivery == ExpertDelivery::kPerRank) {
                for (const int64_t holder : holders) move(from, holder);
              }
              if (delivery != ExpertDelivery::kPerDomain) continue;
              for (const auto& [node, members] : of_node) {
                const int64_t here = std::min(per_node, ranks - node * per_node);
                const int64_t entry =
                    node == from / per_node ? from : node * per_node + from % per_node % here;
                move(from, entry);
                for (const int64_t member : members) move(entry, member);
              }
            }
          });
          TrafficCounter counter(world);
          counter.Experts(group, {experts, top_k, delivery}, kTokens, kDispatch, kCombine);
          wire.Expect(counter.Finish(1, Rates(), Rules()));
        }
      }
    }
  }
}

TEST(TrafficCounterTest, ChancesAreThoseOfAnUrn) {
  EXPECT_DOUBLE_EQ(HitChance(8, 1, 2), 0.25);
  EXPECT_DOUBLE_EQ(HitChance(8, 8, 1), 1);
  EXPECT_DOUBLE_EQ(HitChance(8, 3, 0), 0);
  EXPECT_DOUBLE_EQ(HitChance(4, 2, 2), 1 - 1. / 6);  // both of the two others: one way of six
  EXPECT_DOUBLE_EQ(HitChance(4, 3, 2), 1);           // two others cannot be three
}

TEST(TrafficCounterTest, DomainsMayBeLargerThanNodes) {
  GpuSpec rack;
  rack.nvlink_domain = 8;
  NodePlacement place;
  place.gpus_per_node = place.ranks_per_node = 4;
  const TrafficWorld world = WorldOf(rack, place, 16);
  EXPECT_EQ(world.node[7], 1);
  EXPECT_EQ(world.domain[7], 0);
  EXPECT_EQ(world.domain[8], 1);
  TrafficCounter counter(world);
  counter.AllReduce(TrafficKind::kTensorParallel, {0, 8, 1, 0}, 800);
  const StepTraffic step = counter.Finish(4, Rates(), Rules());
  EXPECT_EQ(step.sent.network, Bytes());
  EXPECT_EQ(step.sent.inside, Bytes(2 * 7 * 800));
  EXPECT_EQ(step.InsidePerToken(), 2 * 7 * 200);
}

TEST(TrafficCounterTest, TimesAreOfTheBusiest) {
  const TrafficWorld world = CounterWorld(4, 2);
  TrafficCounter counter(world);
  counter.Send(TrafficKind::kPipeline, 0, 2, 1e9);
  counter.Send(TrafficKind::kPipeline, 1, 3, 1e9);
  counter.Send(TrafficKind::kTensorParallel, 2, 3, 5e9);
  Rules rules;
  rules[static_cast<size_t>(TrafficKind::kPipeline)] = "from stage to stage";
  const StepTraffic step = counter.Finish(10, Rates(), rules);
  EXPECT_EQ(step.node_network, Bytes(2'000'000'000));
  EXPECT_DOUBLE_EQ(step.network_seconds, 2);
  EXPECT_EQ(step.rank_inside, Bytes(5'000'000'000));
  EXPECT_EQ(step.busiest_rank, 2);
  EXPECT_DOUBLE_EQ(*step.inside_seconds, 0.5);
  EXPECT_DOUBLE_EQ(step.NetworkPerToken(), 2e8);
  ASSERT_EQ(step.items.size(), 2u);
  EXPECT_EQ(ToString(step.items[0].kind), "tensor_parallel");
  EXPECT_EQ(step.items[1].rule, "from stage to stage");
}

// Least amounts: a group of three and one over two nodes.
TEST(TrafficCounterTest, TheLeastThatMustCross) {
  const TrafficWorld world = CounterWorld(4, 3);
  const RankGroup all = {0, 4, 1, 0};
  const auto least = [&](auto move) {
    TrafficCounter counter(world);
    move(&counter);
    const StepTraffic step = counter.Finish(1, Rates(), Rules());
    EXPECT_LE(step.node_network_least, step.node_network);
    EXPECT_LE(step.rank_inside_least, step.rank_inside);
    return std::pair(step.node_network_least.count(), step.rank_inside_least.count());
  };
  const auto kind = TrafficKind::kTensorParallel;
  // A sum of 400 B: once out, once in; two of the other ranks' parts inside.
  EXPECT_EQ(least([&](TrafficCounter* c) { c->AllReduce(kind, all, 400); }), std::pair(400l, 200l));
  // Three parts go out of the larger node and into the other.
  EXPECT_EQ(least([&](TrafficCounter* c) { c->AllGather(kind, all, 400); }), std::pair(300l, 200l));
  EXPECT_EQ(least([&](TrafficCounter* c) { c->ReduceScatter(kind, all, 400); }),
            std::pair(300l, 200l));
  EXPECT_EQ(least([&](TrafficCounter* c) { c->Send(kind, 0, 3, 50); }), std::pair(50l, 0l));
}

TEST(TrafficCounterTest, LeastIsNeverMoreThanTheRing) {
  for (const int64_t per_node : {1, 2, 3, 4, 8}) {
    for (int64_t ranks = 2; ranks <= 12; ++ranks) {
      const TrafficWorld world = CounterWorld(ranks, per_node);
      for (int how = 0; how < 3; ++how) {
        TrafficCounter counter(world);
        const RankGroup all = {0, ranks, 1, 0};
        if (how == 0) counter.AllReduce(TrafficKind::kLogits, all, 1e6);
        if (how == 1) counter.AllGather(TrafficKind::kLogits, all, 1e6);
        if (how == 2) counter.ReduceScatter(TrafficKind::kLogits, all, 1e6);
        const StepTraffic step = counter.Finish(1, Rates(), Rules());
        EXPECT_LE(step.node_network_least, step.node_network);
        EXPECT_LE(step.rank_inside_least, step.rank_inside);
        EXPECT_EQ(step.node_network_least > Bytes(), ranks > per_node);
      }
    }
  }
}

TEST(TrafficCounterTest, MoreThanFitsIsAnError) {
  const TrafficWorld world = CounterWorld(2, 1);
  TrafficCounter counter(world);
  counter.Send(TrafficKind::kPipeline, 0, 1, 1e19);
  EXPECT_THROW(counter.Finish(1, Rates(), Rules()), SizeOverflow);
}

TEST(TrafficCounterTest, NothingMovesInsideOneRank) {
  const TrafficWorld world = CounterWorld(2, 1);
  TrafficCounter counter(world);
  counter.AllReduce(TrafficKind::kEmbedding, {0, 1, 1, 0}, 100);
  counter.Experts({0, 1, 1, 0}, {8, 2, ExpertDelivery::kPerRank}, 10, 1, 1);
  const StepTraffic step = counter.Finish(0, Rates(), Rules());
  EXPECT_TRUE(step.items.empty());
  EXPECT_EQ(step.NetworkPerToken(), 0);
}

}  // namespace
}  // namespace shardplan
