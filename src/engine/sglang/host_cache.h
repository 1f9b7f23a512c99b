// HiCache: the copy of the pools in host memory. Its gigabytes are decimal.
#ifndef SHARDPLAN_ENGINE_SGLANG_HOST_CACHE_H_
#define SHARDPLAN_ENGINE_SGLANG_HOST_CACHE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "engine/sglang/context.h"
#include "shardplan/base/bytes.h"

namespace shardplan::sglang {

struct HostCache {
  Bytes per_rank;         // KV and states
  int64_t tokens = 0;     // of the KV part
  Bytes needed_per_node;  // with the 10 GiB that SGLang leaves alone
  bool by_ratio = true;
};

// What --enable-hierarchical-cache takes on each of `ranks_on_node` ranks: --hicache-size decimal
// gigabytes, or --hicache-ratio times the pools on the device (2.0 where neither is given). One
// page is allocated beyond the tokens. Hybrid models split the size between KV and states by the
// bytes on the device. `kv` and `states` are the pools of one rank.
// Source: mem_cache/pool_host (0bda0b168).
HostCache SizeHostCache(const ServerArgs& args, Bytes kv, Bytes states, int64_t page_size,
                        double cell_bytes, int64_t ranks_on_node);

// SGLang refuses a rank that asks for more than its share of what the host has free, less 10 GiB.
bool HostHolds(const HostCache& cache, Bytes host_available, int64_t ranks_on_node);

}  // namespace shardplan::sglang

#endif  // SHARDPLAN_ENGINE_SGLANG_HOST_CACHE_H_
