// What a container needs of its node, and how long it may take to start.
#ifndef SHARDPLAN_LAUNCH_KUBERNETES_BUDGET_H_
#define SHARDPLAN_LAUNCH_KUBERNETES_BUDGET_H_

#include <cstdint>
#include <string>
#include <vector>

#include "launch/kubernetes/options.h"
#include "launch/start_estimate.h"
#include "shardplan/base/bytes.h"
#include "shardplan/launch/launch_input.h"

namespace shardplan::kubernetes {

struct BudgetTerm {
  std::string what;
  Bytes bytes;
  bool assumed = false;  // not derived from the plan
  bool pinned = false;   // the kernel takes none of it back
};

// Host memory of one container, on the node that needs most. A container's limit counts pinned
// memory, what is written below /dev/shm, and the page cache of the files that it reads, which the
// kernel takes back when it must.
struct HostBudget {
  std::vector<BudgetTerm> terms;
  Bytes needed;  // of all, in whole GiB
  Bytes total;   // the same, or what was given
  bool given = false;
};

// How large /dev/shm may become: NCCL, message queues between workers and multimodal inputs lie
// there.
Bytes ShmSize(const Options& options);

HostBudget MakeHostBudget(const LaunchInput& input, const Options& options, int64_t gpus);

struct StartupEstimate {
  StartEstimate slowest;  // of the nodes
  int64_t seconds = 0;    // allowed in all
  bool given = false;
};

// Time between the engine's start and its first answer (launch/start_estimate.h), of the node that
// takes longest.
StartupEstimate EstimateStartup(const LaunchInput& input, const Options& options);

// Both as comments.
std::string Describe(const HostBudget& budget);
std::string Describe(const StartupEstimate& startup);

}  // namespace shardplan::kubernetes

#endif  // SHARDPLAN_LAUNCH_KUBERNETES_BUDGET_H_
