#include "engine/vllm/kv_compressed.h"

#include <gtest/gtest.h>

#include "engine/vllm/kv_cache.h"
#include "engine/vllm/kv_models.h"
#include "support/vllm_context.h"

namespace shardplan {
namespace {

using testing_support::VllmContext;

ModelSpec Flash() {
  ModelSpec spec;
  spec.arch = *testing_support::NumbersOf("deepseek-ai__DeepSeek-V4-Flash");
  return spec;
}

TEST(VllmKvCompressed, CachesOfEveryRatio) {
  VllmContext c(Flash(), "0.31.0");
  c.spec().arch.attention.resize(3);
  c.spec().arch.compress_ratio = {0, 4, 128};
  c.Resolve();
  const std::vector<vllm::KvBucket> caches = vllm::CollectCompressed(c.context);
  struct Want {
    vllm::KvKind kind;
    int64_t block, window, page;
    size_t layers;
  };
  const Want wants[] = {{vllm::KvKind::kSlidingLatent, 64, 128, 37'440, 3},
                        {vllm::KvKind::kIndexer, 256, 0, 8640, 1},
                        {vllm::KvKind::kSlidingLatent, 4, 8, 8640, 1},
                        {vllm::KvKind::kLatent, 256, 0, 37'440, 1},
                        {vllm::KvKind::kSlidingLatent, 4, 8, 32'832, 1},
                        {vllm::KvKind::kLatent, 256, 0, 1728, 1},
                        {vllm::KvKind::kSlidingLatent, 8, 128, 32'832, 1}};
  ASSERT_EQ(caches.size(), std::size(wants));
  for (size_t i = 0; i < caches.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(caches[i].spec.kind, wants[i].kind);
    EXPECT_EQ(caches[i].spec.block_tokens, wants[i].block);
    EXPECT_EQ(caches[i].spec.window, wants[i].window);
    EXPECT_EQ(caches[i].spec.page.count(), wants[i].page);
    EXPECT_EQ(caches[i].layers.size(), wants[i].layers);
  }
}

// The published start of vLLM 0.31.1 on 8 H100 (262,144 tokens, 8,192 batched): a block of
// 1,002,240 B and 7,706 blocks a request explain the tokens it printed.
TEST(VllmKvCompressed, PublishedPool) {
  VllmContext c(Flash(), "0.31.0");
  c.context.sizes.tp = 8;
  c.context.settings.max_model_len = 262'144;
  c.context.settings.max_num_batched_tokens = 8192;
  c.context.settings.max_num_seqs = 64;
  c.Resolve();
  EXPECT_EQ(c.context.resolved.kv_stored_dtype, "fp8_ds_mla");
  const vllm::KvLayout layout = vllm::MakeKvLayout(c.context);
  EXPECT_EQ(layout.arrangement, vllm::KvArrangement::kPacked);
  EXPECT_EQ(layout.bytes_per_block[0], Bytes(1'002'240));
  EXPECT_EQ(layout.BlocksPerRequest(262'144), 7706);
  EXPECT_EQ(vllm::ComputeCapacity(layout, {Bytes(1'002'240LL * 50'812)}, 262'144).tokens,
            1'728'531);
}

}  // namespace
}  // namespace shardplan
