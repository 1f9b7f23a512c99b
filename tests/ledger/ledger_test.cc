#include "shardplan/ledger/ledger.h"

#include <gtest/gtest.h>

namespace shardplan {
namespace {

Ledger Sample(int64_t kv) {
  Ledger ledger(Bytes(1000), Bytes(950), Range(Bytes(790), Bytes(800), Bytes(805)));
  ledger.Add({Account::kDriverReserved, false, Range(Bytes(50)), Basis::kMeasured, "smi", {}});
  ledger.Add({Account::kCudaContext,
              false,
              Range(Bytes(10), Bytes(20), Bytes(40)),
              Basis::kAssumed,
              "context",
              {}});
  ledger.Add({Account::kWeights, true, Range(Bytes(400)), Basis::kExact, "headers", {}});
  ledger.Add({Account::kActivations,
              true,
              Range(Bytes(80), Bytes(100), Bytes(150)),
              Basis::kDerived,
              "shapes",
              {}});
  ledger.Add({Account::kKvCache,
              true,
              Range(Bytes(kv / 2), Bytes(kv), Bytes(kv * 2)),
              Basis::kDerived,
              "blocks",
              {}});
  ledger.Close();
  return ledger;
}

TEST(Ledger, SumsToTheCard) {
  for (const int64_t kv : {0, 100, 300, 5000}) EXPECT_EQ(Sample(kv).Sum(), Bytes(1000)) << kv;
}

TEST(Ledger, BudgetAndRestAddUpOnTheirOwn) {
  const Ledger ledger = Sample(280);
  EXPECT_EQ(ledger.SumInBudget(true), Bytes(800));
  EXPECT_EQ(ledger.SumInBudget(false), Bytes(200));
  EXPECT_EQ(ledger.Sum(Account::kHeadroom), Bytes(20 + 130));
}

TEST(Ledger, ShortIsANegativeRow) {
  const Ledger ledger = Sample(5000);
  const Entry& inside = ledger.entries()[5];
  EXPECT_EQ(inside.account, Account::kHeadroom);
  EXPECT_TRUE(inside.in_budget);
  EXPECT_EQ(inside.bytes.central, Bytes(800 - 400 - 100 - 5000));
}

TEST(Ledger, HeadroomOutsideHasTheOthersRange) {
  const Entry outside = Sample(100).entries()[6];
  EXPECT_FALSE(outside.in_budget);
  EXPECT_EQ(outside.bytes.low, Bytes(210 - 50 - 40));  // dear: the budget is the smaller one
  EXPECT_EQ(outside.bytes.central, Bytes(200 - 50 - 20));
  EXPECT_EQ(outside.bytes.high, Bytes(195 - 50 - 10));
  EXPECT_EQ(outside.basis, Basis::kAssumed);
}

// At either end the rows inside the budget still add up to the budget of that end.
TEST(Ledger, EndsAddUpToo) {
  const Entry inside = Sample(100).entries()[5];
  const Bytes cheap(805 - 400 - 80 - 200);  // the cache takes its high end
  const Bytes dear(790 - 400 - 150 - 50);
  EXPECT_EQ(inside.bytes.low, std::min(cheap, dear));
  EXPECT_EQ(inside.bytes.high, Bytes(800 - 400 - 100 - 100));
  EXPECT_LE(inside.bytes.low, inside.bytes.central);
  EXPECT_LE(inside.bytes.central, inside.bytes.high);
}

TEST(Ledger, AssumedShare) {
  EXPECT_DOUBLE_EQ(Sample(430).AssumedShare(), 20.0 / 1000.0);
  EXPECT_DOUBLE_EQ(Ledger(Bytes(1), Bytes(1), Range(Bytes(1))).AssumedShare(), 0.0);
}

TEST(Ledger, AccountNames) {
  EXPECT_EQ(ToString(Account::kDriverReserved), "driver_reserved");
  EXPECT_EQ(ToString(Account::kInUseByOthers), "in_use_by_others");
  EXPECT_EQ(ToString(Account::kCudaContext), "cuda_context");
  EXPECT_EQ(ToString(Account::kCommunication), "communication");
  EXPECT_EQ(ToString(Account::kWeights), "weights");
  EXPECT_EQ(ToString(Account::kActivations), "activations");
  EXPECT_EQ(ToString(Account::kCudaGraphs), "cuda_graphs");
  EXPECT_EQ(ToString(Account::kWorkspace), "workspace");
  EXPECT_EQ(ToString(Account::kKvCache), "kv_cache");
  EXPECT_EQ(ToString(Account::kHeadroom), "headroom");
}

}  // namespace
}  // namespace shardplan
