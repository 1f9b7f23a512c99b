// Which caches share block tables, and what a block costs.
#ifndef SHARDPLAN_ENGINE_VLLM_KV_GROUPS_H_
#define SHARDPLAN_ENGINE_VLLM_KV_GROUPS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/vllm/kv_spec.h"

namespace shardplan::vllm {

// How groups lie in the pool of blocks.
enum class KvArrangement {
  kGeneral,   // all pages are equal; a block is a page in each layer of the longest group
  kOneGroup,  // caches of one type with pages of their own: a block is a page of each
  kPacked,    // groups overlay one another in a slab as wide as the widest (DeepSeek-V4)
  kNone,      // nothing is cached
  kRefused,   // pages that cannot be made equal: vLLM does not start
};

// Caches that share a block table. Formed over the whole model, then looked at stage by stage.
struct KvGroup {
  std::vector<KvBucket> members;  // more than one where pages or types differ

  const KvSpec& spec() const { return members.front().spec; }
  int64_t caches() const;
  Bytes widest_page() const;
  int64_t CountIn(const StageRange& stage) const;
  Bytes PagesIn(const StageRange& stage) const;  // one page of each cache
};

// What a group holds, for tables: "full attention", "sliding window", "KDA states" …
std::string_view NameOf(const KvGroup& group);

struct KvGrouping {
  KvArrangement arrangement = KvArrangement::kNone;
  std::vector<KvGroup> groups;

  // One block on a stage.
  Bytes BlockOn(const StageRange& stage) const;
  // The same as the check of a request's needs has it: in the packed arrangement it counts every
  // kind of page as often as the commonest.
  Bytes AdmissionBlockOn(const StageRange& stage) const;
};

// Groups the caches. `one_type` is --disable-hybrid-kv-cache-manager: windows and chunks are
// allocated as full attention. Source: vllm/v1/core/kv_cache_utils.py:get_kv_cache_groups
// (d29f7f5c).
KvGrouping GroupCaches(std::vector<KvBucket> caches, bool one_type);

}  // namespace shardplan::vllm

#endif  // SHARDPLAN_ENGINE_VLLM_KV_GROUPS_H_
