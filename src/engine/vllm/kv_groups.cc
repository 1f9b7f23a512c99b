#include "engine/vllm/kv_groups.h"

#include <algorithm>

namespace shardplan::vllm {
namespace {

bool IsLocal(KvKind kind) { return kind == KvKind::kSliding || kind == KvKind::kChunked; }

template <typename Predicate>
bool All(const std::vector<KvBucket>& caches, Predicate predicate) {
  return std::all_of(caches.begin(), caches.end(),
                     [&](const KvBucket& bucket) { return predicate(bucket.spec); });
}

template <typename Predicate>
bool Any(const std::vector<KvBucket>& caches, Predicate predicate) {
  return !All(caches, [&](const KvSpec& spec) { return !predicate(spec); });
}

// Caches that need the same number of slots for a request, whatever their width: they can share
// one block table. Source: UniformTypeKVCacheSpecs.is_uniform_type.
bool SameType(const std::vector<KvBucket>& caches) {
  const KvSpec& first = caches.front().spec;
  return All(caches, [&](const KvSpec& spec) {
    const bool kind =
        KeepsEveryToken(first.kind) ? KeepsEveryToken(spec.kind) : spec.kind == first.kind;
    return kind && spec.block_tokens == first.block_tokens && spec.window == first.window;
  });
}

// Allocates windows and chunks as full attention: _promote_local_kv_cache_specs.
std::vector<KvBucket> Promote(const std::vector<KvBucket>& caches) {
  int64_t block = 0;  // of full attention, where there is one size of it
  for (const KvBucket& bucket : caches) {
    if (KeepsEveryToken(bucket.spec.kind)) block = bucket.spec.block_tokens;
  }
  if (block == 0) return caches;
  std::vector<KvBucket> out;
  for (KvBucket bucket : caches) {
    KvSpec& spec = bucket.spec;
    if (IsLocal(spec.kind)) {
      spec.page = Bytes((spec.page * block).count() / spec.block_tokens);
      spec.block_tokens = block;
      spec.kind = KvKind::kFull;
      spec.attention = AttentionKind::kFull;
      spec.window = 0;
      spec.reach = KvSpec::kUnlimited;
      spec.extra_blocks = 0;
    }
    const auto same = std::find_if(out.begin(), out.end(),
                                   [&](const KvBucket& other) { return other.spec == spec; });
    if (same == out.end()) {
      out.push_back(std::move(bucket));
      continue;
    }
    const auto middle = static_cast<std::ptrdiff_t>(same->layers.size());
    same->layers.insert(same->layers.end(), bucket.layers.begin(), bucket.layers.end());
    std::inplace_merge(same->layers.begin(), same->layers.begin() + middle, same->layers.end());
  }
  return out;
}

// Gives all caches the largest page: blocks of more tokens where that goes in whole numbers, else
// padding. False where neither does. Source: unify_kv_cache_spec_page_size.
bool UnifyPages(std::vector<KvBucket>* caches) {
  Bytes largest;
  for (const KvBucket& bucket : *caches) largest = std::max(largest, bucket.spec.page);
  for (KvBucket& bucket : *caches) {
    KvSpec& spec = bucket.spec;
    if (spec.page == largest) continue;
    if (spec.page <= Bytes()) return false;
    if (spec.kind != KvKind::kState) {
      const bool whole = largest.count() % spec.page.count() == 0;
      if (!whole && !spec.strided) return false;
      if (whole) {
        spec.block_tokens = internal::CheckedMul(spec.block_tokens, FloorDiv(largest, spec.page));
      }
    }
    spec.page = largest;
  }
  return true;
}

// Every n-th layer of a bucket to one of n groups, so that stages hold equal shares.
void Split(const KvBucket& bucket, int64_t group_size, std::vector<KvGroup>* groups) {
  const auto parts =
      static_cast<size_t>(CeilDiv(static_cast<int64_t>(bucket.layers.size()), group_size));
  for (size_t part = 0; part < parts; ++part) {
    KvBucket member{bucket.spec, {}};
    member.layers.reserve(bucket.layers.size() / parts + 1);
    for (size_t i = part; i < bucket.layers.size(); i += parts) {
      member.layers.push_back(bucket.layers[i]);
    }
    groups->push_back({{std::move(member)}});
  }
}

// Buckets are cut into groups of the smallest one's size; where they are nearly equal the smaller
// ones are padded instead. Source: _get_kv_cache_groups_uniform_page_size.
std::vector<KvGroup> SplitEvenly(const std::vector<KvBucket>& caches) {
  int64_t smallest = static_cast<int64_t>(caches.front().layers.size());
  int64_t largest = smallest;
  for (const KvBucket& bucket : caches) {
    const auto size = static_cast<int64_t>(bucket.layers.size());
    smallest = std::min(smallest, size);
    largest = std::max(largest, size);
  }
  const int64_t group_size = 2 * largest < 3 * smallest ? largest : smallest;
  std::vector<KvGroup> groups;
  for (const KvBucket& bucket : caches) Split(bucket, group_size, &groups);
  return groups;
}

int64_t CommonestPage(const std::vector<KvBucket>& members) {
  int64_t most = 0;
  for (const KvBucket& member : members) {
    most = std::max(most, static_cast<int64_t>(member.layers.size()));
  }
  return most;
}

// The group size in [first, largest] that pads the least; of equals the largest.
int64_t LeastPadding(const std::vector<int64_t>& counts) {
  const int64_t largest = *std::max_element(counts.begin(), counts.end());
  int64_t best = counts.front();
  int64_t best_padding = -1;
  for (int64_t size = counts.front(); size <= largest; ++size) {
    int64_t padding = 0;
    for (const int64_t count : counts) padding += (size - count % size) % size;
    if (best_padding < 0 || padding <= best_padding) {
      best = size;
      best_padding = padding;
    }
  }
  return best;
}

// Latents of every token in one group, windows by block and length in groups of about as many
// layers. Source: _get_kv_cache_groups_uniform_groups.
std::vector<KvGroup> Pack(const std::vector<KvBucket>& caches) {
  std::vector<KvGroup> types(1);
  for (const KvBucket& bucket : caches) {
    if (KeepsEveryToken(bucket.spec.kind)) {
      types.front().members.push_back(bucket);
      continue;
    }
    auto type = std::find_if(types.begin() + 1, types.end(), [&](const KvGroup& group) {
      return group.spec().block_tokens == bucket.spec.block_tokens &&
             group.spec().window == bucket.spec.window;
    });
    if (type == types.end()) type = types.insert(type, KvGroup());
    type->members.push_back(bucket);
  }
  std::vector<int64_t> counts;
  for (const KvGroup& type : types) counts.push_back(CommonestPage(type.members));
  const int64_t size = LeastPadding(counts);
  std::vector<KvGroup> groups = {std::move(types.front())};
  for (size_t t = 1; t < types.size(); ++t) {
    const size_t first = groups.size();
    for (const KvBucket& member : types[t].members) {
      std::vector<KvGroup> parts;
      Split(member, size, &parts);
      for (size_t part = 0; part < parts.size(); ++part) {
        if (first + part == groups.size()) groups.emplace_back();
        groups[first + part].members.push_back(std::move(parts[part].members.front()));
      }
    }
  }
  return groups;
}

}  // namespace

int64_t KvGroup::caches() const {
  int64_t count = 0;
  for (const KvBucket& member : members) count += static_cast<int64_t>(member.layers.size());
  return count;
}

Bytes KvGroup::widest_page() const {
  Bytes widest;
  for (const KvBucket& member : members) widest = std::max(widest, member.spec.page);
  return widest;
}

std::string_view NameOf(const KvGroup& group) {
  switch (group.spec().kind) {
    case KvKind::kFull:
      return "full attention";
    case KvKind::kLatent:
    case KvKind::kIndexer:
      return Any(group.members, [](const KvSpec& spec) { return spec.kind == KvKind::kIndexer; })
                 ? "latents and indexer keys"
                 : "latent attention";
    case KvKind::kSliding:
      return "sliding window";
    case KvKind::kChunked:
      return "chunked attention";
    case KvKind::kSlidingLatent:
      return "window of latents";
    case KvKind::kState:
      break;
  }
  switch (group.spec().attention) {
    case AttentionKind::kKda:
      return "KDA states";
    case AttentionKind::kGdn:
      return "gated delta net states";
    case AttentionKind::kMamba2:
      return "Mamba-2 states";
    default:
      return "Mamba states";
  }
}

int64_t KvGroup::CountIn(const StageRange& stage) const {
  int64_t count = 0;
  for (const KvBucket& member : members) count += member.CountIn(stage);
  return count;
}

Bytes KvGroup::PagesIn(const StageRange& stage) const {
  Bytes sum;
  for (const KvBucket& member : members) sum += member.spec.page * member.CountIn(stage);
  return sum;
}

Bytes KvGrouping::BlockOn(const StageRange& stage) const {
  // With equal pages the widest group is the longest one.
  Bytes widest;
  for (const KvGroup& group : groups) widest = std::max(widest, group.PagesIn(stage));
  return widest;
}

Bytes KvGrouping::AdmissionBlockOn(const StageRange& stage) const {
  if (arrangement != KvArrangement::kPacked) return BlockOn(stage);
  int64_t tuples = 0;
  for (const KvGroup& group : groups) {
    for (const KvBucket& member : group.members) {
      tuples = std::max(tuples, member.CountIn(stage));
    }
  }
  Bytes tuple;
  for (const KvBucket& member : groups.front().members) {
    if (member.CountIn(stage) > 0) tuple += member.spec.page;
  }
  return tuple * tuples;
}

KvGrouping GroupCaches(std::vector<KvBucket> caches, bool one_type) {
  KvGrouping out;
  if (caches.empty()) return out;
  if (one_type && !SameType(caches)) {
    caches = Promote(caches);
    // States next to attention cannot be promoted.
    if (!SameType(caches)) {
      out.arrangement = KvArrangement::kRefused;
      return out;
    }
  }
  if (SameType(caches)) {
    out.arrangement = caches.size() == 1 ? KvArrangement::kGeneral : KvArrangement::kOneGroup;
    out.groups.push_back({std::move(caches)});
    return out;
  }
  if (Any(caches, [](const KvSpec& s) { return s.kind == KvKind::kSlidingLatent; })) {
    out.arrangement = KvArrangement::kPacked;
    out.groups = Pack(caches);
    return out;
  }
  std::vector<KvBucket> unified = caches;
  if (UnifyPages(&unified)) {
    out.arrangement = KvArrangement::kGeneral;
    out.groups = SplitEvenly(unified);
    return out;
  }
  // Windows beside latents fall back to full attention.
  const auto has = [&](KvKind kind) {
    return Any(caches, [kind](const KvSpec& spec) { return spec.kind == kind; });
  };
  if (has(KvKind::kLatent) && has(KvKind::kSliding) && !has(KvKind::kChunked)) {
    caches = Promote(caches);
    if (SameType(caches)) {
      out.arrangement = KvArrangement::kOneGroup;
      out.groups.push_back({std::move(caches)});
      return out;
    }
  }
  out.arrangement = KvArrangement::kRefused;
  return out;
}

}  // namespace shardplan::vllm
