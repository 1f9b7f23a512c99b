// The options that say which deployment is meant, shared by all commands that plan one.
#ifndef SHARDPLAN_CLI_DEPLOYMENT_OPTIONS_H_
#define SHARDPLAN_CLI_DEPLOYMENT_OPTIONS_H_

#include <string>

#include "cli/option_set.h"
#include "shardplan/model/family.h"
#include "shardplan/model/precision.h"
#include "shardplan/plan/deployment.h"

namespace shardplan::cli {

struct DeploymentOptions {
  std::string model;  // the first word: a path
  Deployment deployment;
  Assumptions assumptions;
  PrecisionPolicy precision;
};

// Adds MODEL and every option of a deployment. Names are the engine's own long spellings, with our
// short forms --tp, --pp, --dp and --dcp beside them.
void AddDeploymentOptions(OptionSet* options, DeploymentOptions* out);

// "--assume KEY=VALUE", any number of times.
void AddAssumeOption(OptionSet* options, Assumptions* out);

// Reads "vllm" or "vllm@0.31.0". Fails with kUnsupported for an engine that this version doesn't
// model and with kUsage for one that nobody knows.
Status ParseEngine(const std::string& text, Deployment* out);

}  // namespace shardplan::cli

#endif  // SHARDPLAN_CLI_DEPLOYMENT_OPTIONS_H_
