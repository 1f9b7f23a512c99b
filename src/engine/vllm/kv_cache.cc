#include "engine/vllm/kv_cache.h"

#include <algorithm>

namespace shardplan::vllm {
namespace {

// Blocks on a stage that requests may use for `available` bytes.
int64_t UsableBlocks(const KvLayout& layout, size_t stage, Bytes available,
                     bool null_block_reserved) {
  const Bytes block = layout.admission_block[stage];
  if (block <= Bytes()) return KvSpec::kUnlimited;
  if (null_block_reserved) available -= layout.bytes_per_block[stage];
  return FloorDiv(available, block);
}

int64_t LargestWithin(const KvLayout& layout, int64_t blocks, int64_t max_model_len) {
  int64_t low = 0;
  int64_t high = max_model_len;
  while (low < high) {
    const int64_t middle = low + (high - low + 1) / 2;
    if (layout.BlocksPerRequest(middle) <= blocks) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

// As earlier versions print it: as if groups shared the blocks evenly, in the smallest block.
int64_t BlockTokens(const KvLayout& layout, int64_t blocks) {
  int64_t smallest = 0;
  for (const KvGroup& group : layout.groups) {
    // A state's block lasts for the whole window, or for a block of attention (align).
    const int64_t tokens = group.spec().block_tokens;
    if (tokens > 0) smallest = smallest == 0 ? tokens : std::min(smallest, tokens);
  }
  if (layout.groups.empty()) return 0;
  return internal::CheckedMul(blocks / static_cast<int64_t>(layout.groups.size()),
                              internal::CheckedMul(smallest, layout.dcp));
}

}  // namespace

int64_t KvLayout::BlocksOf(const KvGroup& group, int64_t tokens) const {
  // Context parallelism deals out tokens; a state is whole on every rank.
  const bool dealt = dcp > 1 && group.spec().kind != KvKind::kState;
  return group.spec().BlocksFor(dealt ? CeilDiv(tokens, dcp) : tokens);
}

int64_t KvLayout::BlocksPerRequest(int64_t tokens) const {
  int64_t blocks = 0;
  for (const KvGroup& group : groups) blocks += BlocksOf(group, tokens);
  return blocks;
}

KvLayout MakeKvLayout(const Context& c) {
  const KvBlocks blocks = AlignBlocks(c);
  KvGrouping grouping =
      GroupCaches(CollectCaches(c, blocks), c.settings.disable_hybrid_kv_cache_manager);
  KvLayout layout;
  layout.block_tokens = blocks.attention;
  layout.state = blocks.state;
  layout.dcp = c.sizes.dcp;
  layout.bytes_per_block.reserve(c.stages.size());
  layout.admission_block.reserve(c.stages.size());
  for (const StageRange& stage : c.stages) {
    layout.bytes_per_block.push_back(grouping.BlockOn(stage));
    layout.admission_block.push_back(grouping.AdmissionBlockOn(stage));
  }
  for (const KvGroup& group : grouping.groups) {
    for (const KvBucket& member : group.members) {
      layout.page = std::max(layout.page, member.spec.page);
    }
  }
  layout.arrangement = grouping.arrangement;
  layout.groups = std::move(grouping.groups);
  return layout;
}

Bytes PoolBytes(const Context& c, const KvLayout& layout, size_t stage, Bytes available) {
  const Bytes block = layout.bytes_per_block[stage];
  if (!c.settings.num_gpu_blocks_override || block <= Bytes()) return available;
  constexpr int64_t kMost = int64_t{1} << 60;  // more than any card, and far from overflow
  return block * std::min(*c.settings.num_gpu_blocks_override, kMost / block.count() + 1);
}

Bytes AdmittedBytes(const Context& c, const KvLayout& layout, size_t stage, Bytes available) {
  return c.profile->override_before_check ? PoolBytes(c, layout, stage, available) : available;
}

KvCapacity ComputeCapacity(const KvLayout& layout, const std::vector<Bytes>& available,
                           int64_t max_model_len, TokensPrinted printed) {
  KvCapacity capacity;
  bool first = true;
  for (size_t stage = 0; stage < available.size(); ++stage) {
    const Bytes block = layout.bytes_per_block[stage];
    if (block <= Bytes()) continue;
    const int64_t blocks = std::max<int64_t>(0, FloorDiv(available[stage], block));
    capacity.num_blocks = first ? blocks : std::min(capacity.num_blocks, blocks);
    first = false;
  }
  capacity.blocks_per_request = layout.BlocksPerRequest(max_model_len);
  if (capacity.blocks_per_request == 0) return capacity;
  // The same operations on doubles as vLLM's, so that the printed digits agree.
  capacity.max_concurrency =
      static_cast<double>(capacity.num_blocks) / static_cast<double>(capacity.blocks_per_request);
  capacity.tokens =
      printed == TokensPrinted::kBlocks
          ? BlockTokens(layout, capacity.num_blocks)
          : static_cast<int64_t>(capacity.max_concurrency * static_cast<double>(max_model_len));
  return capacity;
}

Bytes NeededBytes(const KvLayout& layout, size_t stage, int64_t max_model_len, int64_t requests,
                  bool null_block_reserved) {
  const int64_t blocks = internal::CheckedMul(layout.BlocksPerRequest(max_model_len), requests);
  const Bytes needed = layout.admission_block[stage] * blocks;
  return null_block_reserved ? needed + layout.bytes_per_block[stage] : needed;
}

int64_t LargestWindow(const KvLayout& layout, const std::vector<Bytes>& available,
                      int64_t max_model_len, bool null_block_reserved) {
  int64_t blocks = KvSpec::kUnlimited;
  for (size_t stage = 0; stage < available.size(); ++stage) {
    blocks = std::min(blocks, UsableBlocks(layout, stage, available[stage], null_block_reserved));
  }
  return LargestWithin(layout, blocks, max_model_len);
}

int64_t LargestWindowOn(const KvLayout& layout, size_t stage, Bytes available,
                        int64_t max_model_len, bool null_block_reserved) {
  return LargestWithin(layout, UsableBlocks(layout, stage, available, null_block_reserved),
                       max_model_len);
}

}  // namespace shardplan::vllm
