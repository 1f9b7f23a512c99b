// What a command has loaded before it answers.
#ifndef SHARDPLAN_CLI_CONTEXT_H_
#define SHARDPLAN_CLI_CONTEXT_H_

#include <string>

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

// Threads for reading shard headers: the machine's, within reason.
int ReaderThreads();

}  // namespace shardplan::cli

#endif  // SHARDPLAN_CLI_CONTEXT_H_
