#include "shardplan/base/basis.h"

#include <gtest/gtest.h>

#include "shardplan/base/units.h"

namespace shardplan {
namespace {

TEST(BasisTest, NamesRoundTrip) {
  for (const Basis basis : {Basis::kExact, Basis::kDerived, Basis::kMeasured, Basis::kAssumed}) {
    const Result<Basis> parsed = ParseBasis(ToString(basis));
    ASSERT_TRUE(parsed) << ToString(basis);
    EXPECT_EQ(*parsed, basis);
  }
  EXPECT_EQ(ToString(Basis::kExact), "exact");
  EXPECT_EQ(ToString(Basis::kAssumed), "assumed");
}

TEST(BasisTest, RefusesOtherWords) {
  const Result<Basis> parsed = ParseBasis("Exact\n");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(parsed.error().ToString(),
            "Exact\\x0a: expected a basis: exact, derived, measured or assumed");
}

TEST(BasisTest, ASumIsAsSoftAsItsSoftestPart) {
  EXPECT_EQ(Softer(Basis::kExact, Basis::kDerived), Basis::kDerived);
  EXPECT_EQ(Softer(Basis::kAssumed, Basis::kMeasured), Basis::kAssumed);
  EXPECT_EQ(Softer(Basis::kExact, Basis::kExact), Basis::kExact);
}

TEST(RangeTest, AnExactNumberHasNoWidth) {
  const Range range(Bytes(5));
  EXPECT_EQ(range.low, Bytes(5));
  EXPECT_EQ(range.central, Bytes(5));
  EXPECT_EQ(range.high, Bytes(5));
}

TEST(RangeTest, AddsEndByEnd) {
  Range sum(Bytes(1), Bytes(2), Bytes(4));
  sum += Range(Bytes(10), Bytes(20), Bytes(40));
  EXPECT_EQ(sum.low, Bytes(11));
  EXPECT_EQ(sum.central, Bytes(22));
  EXPECT_EQ(sum.high, Bytes(44));
}

}  // namespace
}  // namespace shardplan
