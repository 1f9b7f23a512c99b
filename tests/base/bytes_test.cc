#include "shardplan/base/bytes.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace shardplan {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

TEST(BytesTest, AddsSubtractsAndMultiplies) {
  EXPECT_EQ(Bytes(7) + Bytes(5), Bytes(12));
  EXPECT_EQ(Bytes(5) - Bytes(7), Bytes(-2));
  EXPECT_EQ(-Bytes(5), Bytes(-5));
  EXPECT_EQ(Bytes(7) * 3, Bytes(21));
  EXPECT_EQ(3 * Bytes(7), Bytes(21));
  Bytes sum(1);
  sum += Bytes(9);
  sum -= Bytes(4);
  EXPECT_EQ(sum, Bytes(6));
}

TEST(BytesTest, Orders) {
  EXPECT_LT(Bytes(-1), Bytes());
  EXPECT_GE(Bytes(2), Bytes(2));
  EXPECT_EQ(Bytes().count(), 0);
}

TEST(BytesTest, OverflowThrows) {
  EXPECT_THROW(Bytes(kMax) + Bytes(1), SizeOverflow);
  EXPECT_THROW(Bytes(kMin) - Bytes(1), SizeOverflow);
  EXPECT_THROW(-Bytes(kMin), SizeOverflow);
  EXPECT_THROW(Bytes(kMax / 2 + 1) * 2, SizeOverflow);
  EXPECT_EQ(Bytes(kMax - 1) + Bytes(1), Bytes(kMax));
  Bytes sum(kMax);
  EXPECT_THROW(sum += Bytes(1), SizeOverflow);
  EXPECT_EQ(sum, Bytes(kMax)) << "a sum that failed must keep its value";
}

TEST(BytesTest, FloorDivRoundsTowardMinusInfinity) {
  struct Case {
    int64_t a, b, expected;
  };
  for (const Case& c : std::vector<Case>{{7, 2, 3},
                                         {6, 2, 3},
                                         {0, 2, 0},
                                         {1, 2, 0},
                                         {-1, 2, -1},
                                         {-2, 2, -1},
                                         {-3, 2, -2},
                                         {kMin, 1, kMin},
                                         {kMax, kMax, 1}}) {
    EXPECT_EQ(FloorDiv(Bytes(c.a), Bytes(c.b)), c.expected) << c.a << " // " << c.b;
  }
}

TEST(BytesTest, CeilDivAndRoundUp) {
  EXPECT_EQ(CeilDiv(0, 4), 0);
  EXPECT_EQ(CeilDiv(1, 4), 1);
  EXPECT_EQ(CeilDiv(4, 4), 1);
  EXPECT_EQ(CeilDiv(5, 4), 2);
  EXPECT_EQ(CeilDiv(kMax, 1), kMax);
  EXPECT_EQ(CeilDiv(kMax, 2), kMax / 2 + 1) << "a + b - 1 would overflow here";
  EXPECT_EQ(RoundUp(13, 8), 16);
  EXPECT_EQ(RoundUp(16, 8), 16);
  EXPECT_THROW(RoundUp(kMax, 2), SizeOverflow);
}

TEST(BytesTest, NextPowerOfTwoAroundEveryPower) {
  EXPECT_EQ(NextPowerOfTwo(Bytes()), Bytes());
  EXPECT_EQ(NextPowerOfTwo(Bytes(-5)), Bytes());
  EXPECT_EQ(NextPowerOfTwo(Bytes(1)), Bytes(1));
  for (int shift = 2; shift <= 62; ++shift) {
    const int64_t power = int64_t{1} << shift;
    EXPECT_EQ(NextPowerOfTwo(Bytes(power - 1)), Bytes(power)) << shift;
    EXPECT_EQ(NextPowerOfTwo(Bytes(power)), Bytes(power)) << shift;
    if (shift < 62) {
      EXPECT_EQ(NextPowerOfTwo(Bytes(power + 1)), Bytes(power * 2)) << shift;
    }
  }
  EXPECT_THROW(NextPowerOfTwo(Bytes((int64_t{1} << 62) + 1)), SizeOverflow);
}

TEST(SizeOverflowTest, SaysWhatHappened) {
  EXPECT_STREQ(SizeOverflow().what(), "a size does not fit in 64 bits");
}

}  // namespace
}  // namespace shardplan
