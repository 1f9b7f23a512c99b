// From a request to a resolved context: card, nodes, stages, settings, legality.
#ifndef SHARDPLAN_PLAN_PREPARE_H_
#define SHARDPLAN_PLAN_PREPARE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/flag_table.h"
#include "engine/vllm/context.h"
#include "engine/vllm/speculative.h"
#include "hardware/driver_table.h"
#include "plan/placement.h"
#include "sharding/weight_cache.h"
#include "shardplan/plan/known_issues.h"
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
  std::shared_ptr<const FlagTable> flags;               // of all versions
  std::shared_ptr<const Model> draft_model;    // that --speculative-config names; null: none
  std::shared_ptr<WeightCache> weights;        // of all deployments that are evaluated here
  std::shared_ptr<const DriverTable> drivers;  // null without a cluster
  std::shared_ptr<const std::vector<KnownIssue>> issues;  // that this model may have on this card
};

// Looks card and profile up, and loads the draft model that --speculative-config names. Fails with
// kUsage for an unknown card and kUnsupported for an engine or version that is not modelled.
Result<Environment> MakeEnvironment(const Model& model, const Catalog& catalog,
                                    const ConfigStore& store, const Deployment& deployment);

// What can be said of the draft that --speculative-config names without a card: whether it suits
// the model and its method. Nothing for other engines and without one. Fails as MakeEnvironment and
// Prepare do of the same draft.
Result<std::vector<Finding>> CheckSpeculation(const Model& model, const Deployment& deployment);

// A deployment ready to be evaluated. Holds the objects its context points to, and is not moved
// once made.
struct Prepared {
  Deployment deployment;
  GpuSpec gpu;
  std::shared_ptr<const TensorTable> table;  // with the device dtypes of --dtype; the model's own
  std::optional<vllm::Draft> draft;
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
