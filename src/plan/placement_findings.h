// What lies where, and what that means: links, NUMA nodes, network ports, drivers.
#ifndef SHARDPLAN_PLAN_PLACEMENT_FINDINGS_H_
#define SHARDPLAN_PLAN_PLACEMENT_FINDINGS_H_

#include <string>
#include <vector>

#include "hardware/driver_table.h"
#include "plan/placement.h"
#include "shardplan/plan/plan.h"

namespace shardplan {

// How the outputs of experts on several ranks come together, at every MoE layer.
enum class ExpertExchange {
  kAllReduce,  // every rank has all tokens, and the sums of the ranks are added
  kGather,     // tokens are gathered before and scattered after
  kDispatch,   // tokens go to the ranks of their experts and back
};

// What an engine's plan knows beside the Plan itself.
struct PlacementRequest {
  const ClusterSpec* cluster = nullptr;  // null: one card and its presets
  const Catalog* catalog = nullptr;
  const GpuSpec* gpu = nullptr;  // that the plan is made with
  const NodePlacement* place = nullptr;
  const DriverTable* drivers = nullptr;  // null: nothing is said of drivers
  std::string driver;                    // --driver: instead of what the cluster tells; or empty
  bool has_experts = false;
  ExpertExchange exchange = ExpertExchange::kAllReduce;
  bool custom_all_reduce = true;  // not switched off
  bool can_bind = false;          // the engine's release has --numa-bind
  bool bound = false;             // --numa-bind is given
  Bytes in_use;                   // of a card, as the request has it
};

// Of a deployment and its environment, of any engine: what does not hang on the engine's settings.
template <typename Environment, typename Prepared>
PlacementRequest CommonPlacementRequest(const Environment& env, const Prepared& p) {
  PlacementRequest request;
  request.cluster = p.deployment.cluster.get();
  request.catalog = env.catalog;
  request.gpu = &p.gpu;
  request.place = &p.placement;
  request.drivers = env.drivers.get();
  request.driver = p.deployment.driver;
  request.has_experts = p.context.arch->moe.experts > 0;
  request.in_use = p.deployment.gpu_memory_in_use;
  return request;
}

// Adds `finding` unless its id and message are there already: nodes that are alike say the same.
void AddOnce(Finding finding, std::vector<Finding>* out);

// placement.* of a legal plan with all its ranks, warnings and notes: nothing here changes what
// fits.
//
// Links: tp_domains (a TP group over several NVLink domains of a node), pcie_all_reduce (more than
// two cards without NVLink between all of them), shared_node (a group that spans nodes and shares
// one), experts_across_nodes and data_parallel_across_nodes (which collectives take the network),
// single_nic, ethernet, nic_socket (cards without a port on their NUMA node), link_facts.
// Cards: mixed_cards, device_order, mig, memory_in_use, driver. Memory: numa_bind,
// numa_without_memory.
std::vector<Finding> PlacementFindings(const PlacementRequest& request, const Plan& plan);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_PLACEMENT_FINDINGS_H_
