#include "engine/sglang/host_cache.h"

#include "shardplan/base/units.h"

namespace shardplan::sglang {
namespace {

constexpr Bytes kLeftAlone(10 * kGiB);

int64_t Scaled(Bytes bytes, double factor) {
  return static_cast<int64_t>(static_cast<double>(bytes.count()) * factor);
}

}  // namespace

HostCache SizeHostCache(const ServerArgs& a, Bytes kv, Bytes states, int64_t page, double cell,
                        int64_t ranks) {
  HostCache cache;
  int64_t kv_bytes = 0;
  int64_t state_bytes = 0;
  if (a.hicache_size > 0) {
    cache.by_ratio = false;
    const Bytes size = Gigabytes(static_cast<double>(a.hicache_size)).ToBytes();
    const double share = (kv + states).count() > 0 ? static_cast<double>(kv.count()) /
                                                         static_cast<double>((kv + states).count())
                                                   : 1.0;
    kv_bytes = Scaled(size, share);
    state_bytes = size.count() - kv_bytes;
    if (states == Bytes()) state_bytes = 0;
  } else {
    const double ratio = a.hicache_ratio.value_or(2.0);
    kv_bytes = Scaled(kv, ratio);
    state_bytes = Scaled(states, ratio);
  }
  if (cell > 0) {
    cache.tokens = static_cast<int64_t>(static_cast<double>(kv_bytes) / cell) / page * page + page;
    kv_bytes = static_cast<int64_t>(static_cast<double>(cache.tokens) * cell);
  }
  cache.per_rank = Bytes(kv_bytes + state_bytes);
  cache.needed_per_node = cache.per_rank * ranks + kLeftAlone;
  return cache;
}

bool HostHolds(const HostCache& cache, Bytes available, int64_t ranks) {
  return cache.per_rank * ranks <= available - kLeftAlone;
}

}  // namespace shardplan::sglang
