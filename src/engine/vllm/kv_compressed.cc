#include "engine/vllm/kv_compressed.h"

#include <algorithm>

namespace shardplan::vllm {
namespace {

constexpr int64_t kPageMultiple = 576;
constexpr int64_t kWindowBlock = 64;
// One latent of 512: 448 FP8 values, 64 rotary ones in 16 bits, and their scales.
constexpr int64_t kToken = 448 + 64 * 2 + 8;
// The ratio whose windows overlap, so that its compressor holds two of them, and which has an
// indexer.
constexpr int64_t kFineRatio = 4;

KvSpec Spec(KvKind kind, int64_t block_tokens, Bytes content) {
  KvSpec spec;
  spec.kind = kind;
  spec.attention = AttentionKind::kMla;
  spec.block_tokens = block_tokens;
  spec.page = Bytes(RoundUp(content.count(), kPageMultiple));
  spec.strided = false;
  return spec;
}

KvSpec Windowed(int64_t block_tokens, Bytes content, int64_t window, int64_t in_flight) {
  KvSpec spec = Spec(KvKind::kSlidingLatent, block_tokens, content);
  spec.window = window;
  spec.reach = window - 1 + in_flight;
  spec.extra_blocks = 1;
  return spec;
}

// Keys and scores of the tokens that make no whole latent yet, in fp32. Source: CompressorBackend.
KvSpec Compressor(int64_t ratio, int64_t width, int64_t in_flight) {
  const int64_t windows = ratio == kFineRatio ? 2 : 1;
  const int64_t block = ratio == kFineRatio ? 4 : 8;
  return Windowed(block, Bytes(2 * windows * width * 4) * block, ratio * windows, in_flight);
}

void Add(const KvSpec& spec, int64_t layer, std::vector<KvBucket>* buckets) {
  auto it = std::find_if(buckets->begin(), buckets->end(),
                         [&](const KvBucket& bucket) { return bucket.spec == spec; });
  if (it == buckets->end()) it = buckets->insert(it, {spec, {}});
  it->layers.push_back(layer);
}

}  // namespace

std::vector<KvBucket> CollectCompressed(const Context& c) {
  const Architecture& a = *c.arch;
  const int64_t in_flight = c.resolved.in_flight_tokens;
  const KvSpec window = Windowed(kWindowBlock, Bytes(kToken * kWindowBlock), a.window, in_flight);
  std::vector<KvBucket> buckets;
  for (int64_t layer = 0; layer < a.layers(); ++layer) {
    Add(window, layer, &buckets);
    const int64_t ratio = a.compress_ratio[static_cast<size_t>(layer)];
    if (ratio == 0) continue;
    const int64_t latents = kCompressedBlock / ratio;
    if (ratio == kFineRatio) {
      Add(Spec(KvKind::kIndexer, kCompressedBlock, IndexerToken(a) * latents), layer, &buckets);
      Add(Compressor(ratio, a.indexer.head_dim, in_flight), layer, &buckets);
    }
    Add(Spec(KvKind::kLatent, kCompressedBlock, Bytes(kToken) * latents), layer, &buckets);
    Add(Compressor(ratio, a.head_dim, in_flight), layer, &buckets);
  }
  // MTP modules, on the last stage, keep a window alone (compress_ratios ends in zeros for them).
  for (size_t i = 0; i < c.resolved.draft_layers.size(); ++i) Add(window, a.layers() - 1, &buckets);
  return buckets;
}

}  // namespace shardplan::vllm
