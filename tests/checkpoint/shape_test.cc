#include "shardplan/checkpoint/shape.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace shardplan {
namespace {

TEST(ShapeTest, MultipliesDimensions) {
  EXPECT_EQ(Shape().Elements(), 1);  // a scalar
  EXPECT_EQ(Shape({7}).Elements(), 7);
  EXPECT_EQ(Shape({3072, 1792}).Elements(), 5505024);
  EXPECT_EQ(Shape({5, 0, 3}).Elements(), 0);
}

TEST(ShapeTest, OverflowThrows) {
  EXPECT_THROW(Shape({INT64_MAX, 2}).Elements(), SizeOverflow);
  EXPECT_THROW(Shape({int64_t{1} << 32, int64_t{1} << 31}).Elements(), SizeOverflow);
  EXPECT_EQ(Shape({INT64_MAX, 1}).Elements(), INT64_MAX);
}

TEST(ShapeTest, AZeroOutweighsAnOverflow) {
  EXPECT_EQ(Shape({INT64_MAX, INT64_MAX, 0}).Elements(), 0);
  EXPECT_EQ(SizeOf(DType::kF64, Shape({INT64_MAX, 2, 0})), Bytes(0));
}

TEST(ShapeTest, Prints) {
  EXPECT_EQ(Shape().ToString(), "[]");
  EXPECT_EQ(Shape({3072, 1792}).ToString(), "[3072, 1792]");
}

TEST(SizeOfTest, CountsWholeBytes) {
  EXPECT_EQ(SizeOf(DType::kBF16, Shape({3, 5})), Bytes(30));
  EXPECT_EQ(SizeOf(DType::kF32, Shape()), Bytes(4));
  EXPECT_EQ(SizeOf(DType::kBool, Shape({9})), Bytes(9));
  EXPECT_EQ(SizeOf(DType::kU64, Shape({9})), Bytes(72));
}

TEST(SizeOfTest, PacksPartsOfBytes) {
  EXPECT_EQ(SizeOf(DType::kF4, Shape({2})), Bytes(1));
  EXPECT_EQ(SizeOf(DType::kF4, Shape({7, 2})), Bytes(7));
  EXPECT_EQ(SizeOf(DType::kF4, Shape({3})), std::nullopt);
  EXPECT_EQ(SizeOf(DType::kF6E2M3, Shape({4})), Bytes(3));
  EXPECT_EQ(SizeOf(DType::kF6E3M2, Shape({12})), Bytes(9));
  EXPECT_EQ(SizeOf(DType::kF6E3M2, Shape({8})), Bytes(6));
  EXPECT_EQ(SizeOf(DType::kF6E3M2, Shape({2})), std::nullopt);
  EXPECT_EQ(SizeOf(DType::kF4, Shape({0})), Bytes(0));
}

TEST(SizeOfTest, HugeButPossible) {
  // More bits than fit in 64, but not more bytes.
  EXPECT_EQ(SizeOf(DType::kF4, Shape({int64_t{1} << 62})), Bytes(int64_t{1} << 61));
  EXPECT_EQ(SizeOf(DType::kU8, Shape({INT64_MAX})), Bytes(INT64_MAX));
  EXPECT_THROW(SizeOf(DType::kBF16, Shape({int64_t{1} << 62})), SizeOverflow);
}

}  // namespace
}  // namespace shardplan
