#include "model/families/unknown_cache.h"

#include <gtest/gtest.h>

namespace shardplan::families {
namespace {

constexpr LayerSigns kKeys = {true, false, true, false};
constexpr LayerSigns kSome = {false, false, true, false};
constexpr LayerSigns kLinear = {false, false, false, true};

Architecture CacheNumbers() {
  Architecture a;
  a.heads = 8;
  a.kv_heads = 4;
  a.head_dim = a.v_head_dim = 16;
  return a;
}

TEST(GuessCache, RecognisedAttentionHasNoEnds) {
  Architecture a = CacheNumbers();
  Guesses guesses;
  GuessCache({kKeys, kKeys}, {}, 0, &a, &guesses);
  EXPECT_EQ(a.attention, (std::vector<AttentionKind>(2, AttentionKind::kFull)));
  EXPECT_FALSE(guesses.least_cache.has_value());

  a = CacheNumbers();
  a.mla.kv_lora_rank = 64;
  GuessCache({{false, true, true, false}}, {}, 0, &a, &guesses);
  EXPECT_EQ(a.attention[0], AttentionKind::kMla);
  EXPECT_FALSE(guesses.least_cache.has_value());
}

TEST(GuessCache, WordsThatAreKnown) {
  Architecture a = CacheNumbers();
  a.window = 128;
  Guesses guesses;
  GuessCache({kKeys, kKeys}, {"full_attention", "sliding_attention"}, 0, &a, &guesses);
  EXPECT_EQ(a.attention,
            (std::vector<AttentionKind>{AttentionKind::kFull, AttentionKind::kSliding}));
  EXPECT_EQ(a.window, 128);
  EXPECT_FALSE(guesses.least_cache.has_value());

  a = CacheNumbers();
  GuessCache({kKeys}, {"chunked_attention"}, 512, &a, &guesses);
  EXPECT_EQ(a.attention[0], AttentionKind::kChunked);
  EXPECT_EQ(a.window, 512);
}

TEST(GuessCache, UnrecognisedAttentionHasEnds) {
  Architecture a = CacheNumbers();
  Guesses guesses;
  GuessCache({kKeys, kSome, kLinear}, {}, 0, &a, &guesses);
  EXPECT_EQ(a.attention, (std::vector<AttentionKind>{AttentionKind::kFull, AttentionKind::kFull,
                                                     AttentionKind::kNone}));
  ASSERT_TRUE(guesses.least_cache.has_value());
  EXPECT_EQ(guesses.least_cache->kv_heads, 1);
  EXPECT_EQ(guesses.most_cache->attention[2], AttentionKind::kFull);
  EXPECT_TRUE(guesses.heads_may_be_whole);
}

TEST(GuessCache, AWindowThatNothingPlaces) {
  Architecture a = CacheNumbers();
  a.window = 128;
  Guesses guesses;
  GuessCache({kKeys}, {}, 0, &a, &guesses);
  EXPECT_EQ(a.attention[0], AttentionKind::kFull);
  EXPECT_EQ(a.window, 0);
  ASSERT_TRUE(guesses.least_cache.has_value());
  EXPECT_EQ(guesses.least_cache->attention[0], AttentionKind::kSliding);
  EXPECT_EQ(guesses.least_cache->window, 128);
  EXPECT_EQ(guesses.most_cache->attention[0], AttentionKind::kFull);
  EXPECT_FALSE(guesses.heads_may_be_whole);
}

TEST(GuessCache, NothingThatKeepsTokensIsTakenToKeepThem) {
  Architecture a = CacheNumbers();
  Guesses guesses;
  GuessCache({kLinear, kLinear}, {"mamba", "mystery"}, 0, &a, &guesses);
  EXPECT_EQ(a.attention, (std::vector<AttentionKind>(2, AttentionKind::kFull)));
  EXPECT_TRUE(guesses.most_cache.has_value());
}

}  // namespace
}  // namespace shardplan::families
