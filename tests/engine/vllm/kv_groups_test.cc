#include "engine/vllm/kv_groups.h"

#include <gtest/gtest.h>

namespace shardplan {
namespace {

using vllm::GroupCaches;
using vllm::KvArrangement;
using vllm::KvBucket;
using vllm::KvGrouping;
using vllm::KvKind;

// Layers first, first + step, …
KvBucket Bucket(KvKind kind, int64_t page, int64_t count, int64_t first = 0, int64_t step = 1) {
  KvBucket bucket;
  bucket.spec.kind = kind;
  bucket.spec.page = Bytes(page);
  bucket.spec.block_tokens = kind == KvKind::kState ? 0 : 16;
  if (kind == KvKind::kState) bucket.spec.extra_blocks = 2;
  if (kind == KvKind::kSliding) {
    bucket.spec.window = 128;
    bucket.spec.reach = 1000;
    bucket.spec.extra_blocks = 1;
  }
  for (int64_t i = 0; i < count; ++i) bucket.layers.push_back(first + i * step);
  return bucket;
}

std::vector<int64_t> Sizes(const KvGrouping& grouping) {
  std::vector<int64_t> sizes;
  for (const vllm::KvGroup& group : grouping.groups) sizes.push_back(group.caches());
  return sizes;
}

TEST(VllmKvGroups, OneKindIsOneGroup) {
  const KvGrouping grouping = GroupCaches({Bucket(KvKind::kFull, 100, 8)}, false);
  EXPECT_EQ(grouping.arrangement, KvArrangement::kGeneral);
  EXPECT_EQ(Sizes(grouping), (std::vector<int64_t>{8}));
  EXPECT_EQ(grouping.BlockOn({2, 3}), Bytes(300));
  EXPECT_EQ(grouping.AdmissionBlockOn({2, 3}), Bytes(300));
  EXPECT_EQ(GroupCaches({}, false).arrangement, KvArrangement::kNone);
}

// 52 windows and 10 full layers: groups of about 10, every sixth layer to one of them.
TEST(VllmKvGroups, LargeBucketsAreCutToTheSmallestOnesSize) {
  const KvGrouping grouping =
      GroupCaches({Bucket(KvKind::kSliding, 100, 52), Bucket(KvKind::kFull, 100, 10, 5, 6)}, false);
  EXPECT_EQ(Sizes(grouping), (std::vector<int64_t>{9, 9, 9, 9, 8, 8, 10}));
  EXPECT_EQ(grouping.groups[1].members[0].layers[1], 7);
  EXPECT_EQ(grouping.BlockOn({0, 62}), Bytes(1000));
}

TEST(VllmKvGroups, NearlyEqualBucketsArePadded) {
  EXPECT_EQ(Sizes(GroupCaches({Bucket(KvKind::kSliding, 100, 12), Bucket(KvKind::kFull, 100, 13)},
                              false)),
            (std::vector<int64_t>{12, 13}));
  // 15 is 1.5 × 10: cut.
  EXPECT_EQ(Sizes(GroupCaches({Bucket(KvKind::kSliding, 100, 15), Bucket(KvKind::kFull, 100, 10)},
                              false)),
            (std::vector<int64_t>{8, 7, 10}));
}

TEST(VllmKvGroups, SmallerPagesTakeMoreTokens) {
  const KvGrouping grouping =
      GroupCaches({Bucket(KvKind::kFull, 100, 4), Bucket(KvKind::kSliding, 200, 4)}, false);
  EXPECT_EQ(grouping.arrangement, KvArrangement::kGeneral);
  EXPECT_EQ(grouping.groups[0].spec().block_tokens, 32);
  EXPECT_EQ(grouping.groups[0].spec().page, Bytes(200));
  EXPECT_EQ(grouping.groups[1].spec().block_tokens, 16);
}

TEST(VllmKvGroups, PagesThatDoNotDivideArePadded) {
  const KvGrouping padded =
      GroupCaches({Bucket(KvKind::kFull, 100, 4), Bucket(KvKind::kSliding, 250, 4)}, false);
  EXPECT_EQ(padded.groups[0].spec().block_tokens, 16);
  EXPECT_EQ(padded.groups[0].spec().page, Bytes(250));
  // States are padded whatever divides.
  const KvGrouping states =
      GroupCaches({Bucket(KvKind::kState, 100, 4), Bucket(KvKind::kFull, 200, 4)}, false);
  EXPECT_EQ(states.groups[0].spec().page, Bytes(200));
  EXPECT_EQ(states.groups[0].spec().BlocksFor(1000), 2);
}

TEST(VllmKvGroups, PagesThatCannotBePaddedAreRefused) {
  KvBucket full = Bucket(KvKind::kFull, 100, 4);
  full.spec.strided = false;
  EXPECT_EQ(GroupCaches({full, Bucket(KvKind::kSliding, 250, 4)}, false).arrangement,
            KvArrangement::kRefused);
}

// Beside latents, windows are then allocated as full attention.
TEST(VllmKvGroups, WindowsBesideLatentsFallBackToFullAttention) {
  KvBucket latent = Bucket(KvKind::kLatent, 100, 4);
  latent.spec.strided = false;
  const KvGrouping grouping = GroupCaches({latent, Bucket(KvKind::kSliding, 250, 4, 4)}, false);
  EXPECT_EQ(grouping.arrangement, KvArrangement::kOneGroup);
  EXPECT_EQ(grouping.BlockOn({0, 8}), Bytes(4 * 100 + 4 * 250));
  EXPECT_EQ(grouping.groups[0].members[1].spec.BlocksFor(1 << 20), 1 << 16);
}

TEST(VllmKvGroups, EveryTokenAtAnyWidthIsOneGroup) {
  const KvGrouping grouping =
      GroupCaches({Bucket(KvKind::kIndexer, 10, 6), Bucket(KvKind::kLatent, 100, 6)}, false);
  EXPECT_EQ(grouping.arrangement, KvArrangement::kOneGroup);
  EXPECT_EQ(Sizes(grouping), (std::vector<int64_t>{12}));
  EXPECT_EQ(grouping.BlockOn({0, 2}), Bytes(220));
  EXPECT_EQ(grouping.groups[0].widest_page(), Bytes(100));
  EXPECT_EQ(vllm::NameOf(grouping.groups[0]), "latents and indexer keys");
}

TEST(VllmKvGroups, WithoutTheHybridManagerWindowsAreFullAttention) {
  const std::vector<KvBucket> mixed = {Bucket(KvKind::kSliding, 100, 4, 0, 2),
                                       Bucket(KvKind::kFull, 100, 4, 1, 2)};
  const KvGrouping grouping = GroupCaches(mixed, true);
  EXPECT_EQ(grouping.arrangement, KvArrangement::kGeneral);
  ASSERT_EQ(Sizes(grouping), (std::vector<int64_t>{8}));
  EXPECT_EQ(grouping.groups[0].members[0].layers, (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(grouping.groups[0].spec().BlocksFor(1 << 20), 1 << 16);
  // Of another width they stay buckets of one group.
  EXPECT_EQ(GroupCaches({Bucket(KvKind::kSliding, 300, 4), Bucket(KvKind::kFull, 100, 4)}, true)
                .arrangement,
            KvArrangement::kOneGroup);
  EXPECT_EQ(GroupCaches({Bucket(KvKind::kState, 100, 4), Bucket(KvKind::kFull, 100, 4)}, true)
                .arrangement,
            KvArrangement::kRefused);
}

TEST(VllmKvGroups, PackedGroupsOverlayOneAnother) {
  KvBucket window = Bucket(KvKind::kSlidingLatent, 50, 43);
  window.spec.window = 128;
  KvBucket compressor = Bucket(KvKind::kSlidingLatent, 40, 20);
  compressor.spec.block_tokens = 4;
  compressor.spec.window = 8;
  const KvGrouping grouping = GroupCaches(
      {window, Bucket(KvKind::kIndexer, 8, 21), Bucket(KvKind::kLatent, 50, 21), compressor},
      false);
  EXPECT_EQ(grouping.arrangement, KvArrangement::kPacked);
  // 22 pads 21, 43 and 20 the least.
  EXPECT_EQ(Sizes(grouping), (std::vector<int64_t>{42, 22, 21, 20}));
  EXPECT_EQ(grouping.BlockOn({0, 43}), Bytes(21 * 58));
  EXPECT_EQ(grouping.AdmissionBlockOn({0, 43}), Bytes(22 * 58));
}

TEST(VllmKvGroups, Names) {
  const std::pair<KvKind, const char*> names[] = {{KvKind::kFull, "full attention"},
                                                  {KvKind::kLatent, "latent attention"},
                                                  {KvKind::kSliding, "sliding window"},
                                                  {KvKind::kChunked, "chunked attention"},
                                                  {KvKind::kSlidingLatent, "window of latents"}};
  for (const auto& [kind, name] : names) {
    EXPECT_EQ(vllm::NameOf({{Bucket(kind, 1, 1)}}), name);
  }
  const std::pair<AttentionKind, const char*> states[] = {
      {AttentionKind::kKda, "KDA states"},
      {AttentionKind::kGdn, "gated delta net states"},
      {AttentionKind::kMamba2, "Mamba-2 states"},
      {AttentionKind::kMamba1, "Mamba states"}};
  for (const auto& [kind, name] : states) {
    KvBucket bucket = Bucket(KvKind::kState, 1, 1);
    bucket.spec.attention = kind;
    EXPECT_EQ(vllm::NameOf({{bucket}}), name);
  }
}

}  // namespace
}  // namespace shardplan
