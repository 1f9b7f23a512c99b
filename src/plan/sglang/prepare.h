// From a request to SGLang's resolved arguments: card, nodes, stages, defaults, legality.
#ifndef SHARDPLAN_PLAN_SGLANG_PREPARE_H_
#define SHARDPLAN_PLAN_SGLANG_PREPARE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/flag_table.h"
#include "engine/sglang/arguments.h"
#include "engine/sglang/context.h"
#include "engine/sglang/defaults.h"
#include "engine/vllm/draft.h"
#include "hardware/driver_table.h"
#include "plan/placement.h"
#include "sharding/weight_cache.h"
#include "shardplan/plan/known_issues.h"
#include "shardplan/plan/plan.h"

namespace shardplan {

// What stays the same over many deployments of one model on one kind of card.
struct SglangEnvironment {
  const Model* model = nullptr;
  const Catalog* catalog = nullptr;
  GpuSpec gpu;
  sglang::Profile profile;
  std::vector<Finding> findings;               // of choosing the profile
  std::shared_ptr<const Model> draft_model;    // that speculation names; null: none
  std::shared_ptr<const FlagTable> flags;      // of all versions
  std::shared_ptr<WeightCache> weights;        // of all deployments that are evaluated here
  std::shared_ptr<const DriverTable> drivers;  // null without a cluster
  std::shared_ptr<const std::vector<KnownIssue>> issues;  // that this model may have on this card
};

// The server's arguments: SGLang's own settings with the sizes of the deployment. `nnodes` is left
// to who places them.
sglang::ServerArgs SglangArguments(const Deployment& deployment);

// As asked for, or of the profile.
const std::string& VersionOf(const SglangEnvironment& environment, const Deployment& deployment);

// Which flags that version has.
sglang::HasFlagFn FlagsOf(const SglangEnvironment& environment, const Deployment& deployment);

Result<SglangEnvironment> MakeSglangEnvironment(const Model& model, const Catalog& catalog,
                                                const ConfigStore& store,
                                                const Deployment& deployment);

// A draft that is loaded beside the model, whole on every rank's share.
struct SglangDraft {
  std::optional<vllm::Draft> model;  // nothing where only its bytes are known
  Bytes weights;                     // of a rank
  Basis basis = Basis::kDerived;
  std::string source;
};

// A deployment ready to be evaluated. Holds the objects its context points to, and is not moved
// once made.
struct SglangPrepared {
  Deployment deployment;
  GpuSpec gpu;
  std::shared_ptr<const TensorTable> table;  // with the device dtypes of --dtype, before upcasts
  ParallelSizes sizes;
  NodePlacement placement;
  std::vector<StageRange> stages;
  std::vector<RankPlace> places;
  std::vector<OptionValue> option_defaults;
  std::vector<Finding> findings;
  bool legal = true;
  sglang::Context context;
  sglang::Defaults defaults;
  std::optional<SglangDraft> draft;

  SglangPrepared() = default;
  SglangPrepared(const SglangPrepared&) = delete;
  SglangPrepared& operator=(const SglangPrepared&) = delete;
};

// Fills `out`. An illegal layout is no failure: `legal` is false and the findings say why.
Status PrepareSglang(const SglangEnvironment& environment, const Deployment& deployment,
                     SglangPrepared* out);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_SGLANG_PREPARE_H_
