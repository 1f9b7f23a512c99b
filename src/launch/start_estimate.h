// How long a node takes until it answers, and what host memory it needs, for probes and limits.
#ifndef SHARDPLAN_LAUNCH_START_ESTIMATE_H_
#define SHARDPLAN_LAUNCH_START_ESTIMATE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "shardplan/base/bytes.h"
#include "shardplan/plan/plan.h"

namespace shardplan {

// Assumed: a start reads at half of what links allow, and ten minutes follow the weights
// (compilation, warm-up, graphs).
constexpr int64_t kLoadFactor = 2;
constexpr int64_t kSecondsAfterLoading = 600;

// Assumed where the plan has no estimate of its own: a disk or filesystem that reads 1 GB/s.
constexpr int64_t kReadBytesPerSecond = 1'000'000'000;

struct StartEstimate {
  Bytes bytes;               // that the node reads
  int64_t load_seconds = 0;  // at least, at the slow end of the rate
  bool assumed = false;      // the rate
  std::string source;        // what it is read from, and how fast: "from its disks at 2 GB/s"
  int64_t seconds = 0;       // until it answers, in whole minutes
  std::string rule;          // the arithmetic, in words
};

// By the plan's estimate of loading: from the node's disks, or from the filesystem that all nodes
// share, whichever was given (--disk-gb-per-s, --shared-fs-gb-per-s); of both, or of none, the
// slower. `rate`, bytes a second of one node, goes before either. Without an estimate: the shard
// files that the node's stages need, or its ranks' weights, but at most the whole checkpoint.
StartEstimate EstimateStart(const Plan& plan, int64_t node, std::optional<Bytes> rate = {});

// Assumed: what a container's limit leaves for the processes of a rank (CUDA context, Python,
// staging), and for those of a node (API server, tokenizer, scheduler). Deliberately more than is
// expected of them (WorkerMemory in plan/host_memory.h, at most 6 GiB a rank): a limit that is hit
// kills the server.
constexpr int64_t kHostBytesPerRank = int64_t{8} << 30;
constexpr int64_t kHostBytesPerNode = int64_t{16} << 30;

struct HostEstimate {
  Bytes bytes;
  std::string rule;
};

// Pinned memory as it is allocated, host caches, `shared` (/dev/shm counts against a container's
// limit) and the processes. The page cache is left out: it gives way under a limit.
HostEstimate EstimateHostMemory(const Plan& plan, int64_t node, Bytes shared);

}  // namespace shardplan

#endif  // SHARDPLAN_LAUNCH_START_ESTIMATE_H_
