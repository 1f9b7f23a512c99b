// What stands on top of every engine's plan.
#ifndef SHARDPLAN_PLAN_HEADER_H_
#define SHARDPLAN_PLAN_HEADER_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "plan/placement.h"
#include "shardplan/plan/plan.h"

namespace shardplan {

// Model, layout, cards and findings; the engine's own words are the caller's. `Prepared` is what an
// engine made of the request: gpu, placement, legal and findings.
template <typename Prepared>
void FillCommonHeader(const Model& model, const Prepared& p, const ParallelSizes& sizes,
                      std::vector<StageRange> stages, Plan* plan) {
  plan->source = model.source;
  plan->architecture = model.arch.name;
  plan->family = model.arch.family;
  plan->totals = model.totals;
  if (model.inventory.has_headers && model.shape_basis == Basis::kExact) {
    plan->file_bytes = model.inventory.file_bytes;
  }
  plan->shape_basis = model.shape_basis;
  plan->sizes = sizes;
  plan->stages = std::move(stages);
  plan->gpu = p.gpu.id;
  plan->gpu_name = p.gpu.name;
  plan->nodes = p.placement.nodes;
  plan->gpus_per_node = p.placement.gpus_per_node;
  if (p.deployment.cluster) plan->cluster_file = p.deployment.cluster->file;
  const int64_t cards = p.legal ? p.placement.nodes * p.placement.ranks_per_node : sizes.world();
  plan->even_share = MakeEvenShare(p.gpu, cards, model);
  plan->findings = model.findings;
  plan->findings.insert(plan->findings.end(), p.findings.begin(), p.findings.end());
}

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_HEADER_H_
