#include "engine/sglang/host_cache.h"

#include <gtest/gtest.h>

#include "shardplan/base/units.h"

namespace shardplan::sglang {
namespace {

TEST(SglangHostCache, SizesAreDecimalGigabytes) {
  ServerArgs a;
  a.hicache_size = 30;
  const HostCache cache = SizeHostCache(a, Bytes(kGiB), Bytes(), 64, 27648, 8);
  EXPECT_FALSE(cache.by_ratio);
  // Whole pages of what fits, and one page beyond.
  const int64_t tokens = 30'000'000'000 / 27648 / 64 * 64 + 64;
  EXPECT_EQ(cache.tokens, tokens);
  EXPECT_EQ(cache.per_rank, Bytes(tokens * 27648));
  EXPECT_EQ(cache.needed_per_node, cache.per_rank * 8 + Bytes(10 * kGiB));
  EXPECT_TRUE(HostHolds(cache, cache.needed_per_node, 8));
  EXPECT_FALSE(HostHolds(cache, cache.needed_per_node - Bytes(1), 8));
}

TEST(SglangHostCache, TwiceThePoolsByDefault) {
  ServerArgs a;
  const HostCache cache = SizeHostCache(a, Bytes(27648 * 640), Bytes(1'000'000), 64, 27648, 1);
  EXPECT_TRUE(cache.by_ratio);
  EXPECT_EQ(cache.tokens, 2 * 640 + 64);
  EXPECT_EQ(cache.per_rank, Bytes(27648LL * (2 * 640 + 64) + 2'000'000));
  a.hicache_ratio = 1.2;
  EXPECT_EQ(SizeHostCache(a, Bytes(27648 * 640), Bytes(), 64, 27648, 1).tokens, 768 + 64);
}

TEST(SglangHostCache, StatesHaveTheirShareOfASize) {
  ServerArgs a;
  a.hicache_size = 10;
  const HostCache cache = SizeHostCache(a, Bytes(3 * kGiB), Bytes(kGiB), 1, 1000, 1);
  EXPECT_EQ(cache.tokens, 7'500'000 + 1);
  EXPECT_EQ(cache.per_rank, Bytes(10'000'001'000));
}

}  // namespace
}  // namespace shardplan::sglang
