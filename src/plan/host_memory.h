// What a deployment takes of its nodes' own memory, and whether they have it.
#ifndef SHARDPLAN_PLAN_HOST_MEMORY_H_
#define SHARDPLAN_PLAN_HOST_MEMORY_H_

#include <vector>

#include "plan/placement.h"
#include "shardplan/hardware/cluster_spec.h"
#include "shardplan/plan/plan.h"

namespace shardplan {

// Process memory of one rank, without what it pins: assumed, 1 to 6 GiB with 2 in the middle. What
// host memory is expected to take. Limits of containers are set above its high end on purpose
// (launch/start_estimate.h): a process that passes its limit is killed.
Range WorkerMemory();

struct HostRequest {
  const ClusterSpec* cluster = nullptr;  // null: nothing is known of the nodes
  int64_t ranks_per_node = 1;
  // Each rank's memory is bound to its card's NUMA node (numactl --membind): what that doesn't have
  // is not taken elsewhere.
  bool bound = false;
  Bytes kv_tier;  // a rank's second cache in host memory
  bool is_sglang = false;
  bool network = false;  // ranks on several nodes
};

// Fills rows and what the cluster tells of each node of plan->host, and adds host.* findings to the
// plan: an error, and the verdict "does not fit", where a node can't hold what is pinned on it, or
// a NUMA node its share under binding. Uses plan->files where they are known. Requires a legal
// plan.
void CheckHostMemory(const HostRequest& request, Plan* plan);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_HOST_MEMORY_H_
