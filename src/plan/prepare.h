// From a request to a resolved context: card, nodes, stages, settings, legality.
#ifndef SHARDPLAN_PLAN_PREPARE_H_
#define SHARDPLAN_PLAN_PREPARE_H_

#include <memory>
#include <string>
#include <vector>

#include "engine/vllm/context.h"
#include "shardplan/plan/plan.h"

namespace shardplan {

struct CalibrationTable;  // plan/predict_runs.h

// What stays the same over many deployments of one model on one kind of card.
struct Environment {
  const Model* model = nullptr;
  const Catalog* catalog = nullptr;
  GpuSpec gpu;
  vllm::Profile profile;
  std::vector<Finding> findings;                        // of choosing the profile
  std::shared_ptr<const CalibrationTable> calibration;  // nothing without measured runs
};

// Looks card and profile up. Fails with kUsage for an unknown card and kUnsupported for an engine
// or version that is not modelled.
Result<Environment> MakeEnvironment(const Model& model, const Catalog& catalog,
                                    const ConfigStore& store, const Deployment& deployment);

// How ranks are spread over nodes.
struct NodePlacement {
  int64_t nodes = 1;  // in use
  int64_t gpus_per_node = 8;
  int64_t ranks_per_node = 1;
  bool tp_spans_nodes = false;
  std::vector<int> numa_of_gpu;
  bool numa_known = true;  // false: no preset for this size, everything is put on node 0
};

// Cards of a server: as given, or what this kind of card usually comes in.
int64_t CardsPerNode(const GpuSpec& gpu, const Deployment& deployment);

// A deployment ready to be evaluated. Holds the objects its context points to, and is not moved
// once made.
struct Prepared {
  Deployment deployment;
  GpuSpec gpu;
  TensorTable table;  // with the device dtypes of --dtype
  NodePlacement placement;
  std::vector<OptionValue> defaults;
  std::vector<Finding> findings;
  bool legal = true;
  vllm::Context context;

  Prepared() = default;
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;
};

// Fills `out`. An illegal layout is no failure: `legal` is false and the findings say why.
Status Prepare(const Environment& environment, const Deployment& deployment, Prepared* out);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_PREPARE_H_
