// What a command has loaded before it answers.
#ifndef SHARDPLAN_CLI_CONTEXT_H_
#define SHARDPLAN_CLI_CONTEXT_H_

#include <string>
#include <string_view>

#include "cli/deployment_options.h"
#include "cli/output_options.h"
#include "shardplan/base/config_store.h"
#include "shardplan/base/result.h"
#include "shardplan/hardware/cluster.h"
#include "shardplan/model/model.h"

namespace shardplan::cli {

// The built-in catalogue, overridden by --configs.
Result<ConfigStore> LoadStore(const OutputOptions& output);

struct Context {
  ConfigStore store;
  Catalog catalog;
  Model model;
};

// Everything that planning needs. The cheap things that a person gets wrong (no MODEL, an unknown
// card) are looked at before half a million tensors are read.
Result<Context> LoadContext(const DeploymentOptions& options, const OutputOptions& output);

// Refuses a command without a MODEL; `usage` is the command as it is meant, without the program.
Status CheckModelGiven(const std::string& model, std::string_view usage);

// The catalogue as far as the deployment's card needs it, all of it for a cluster. Fails with
// kUsage where --gpu is no card, and with kInvalidInput where a card of the cluster is none.
Result<Catalog> LoadCatalog(const ConfigStore& store, const Deployment& deployment);

// The model that a deployment is of.
Result<Model> LoadModelOf(const DeploymentOptions& options);

// Whether LoadModelOf gives both the same, so that it need be read once only.
bool SameModel(const DeploymentOptions& a, const DeploymentOptions& b);

// Threads for reading shard headers: the machine's, within reason.
int ReaderThreads();

}  // namespace shardplan::cli

#endif  // SHARDPLAN_CLI_CONTEXT_H_
