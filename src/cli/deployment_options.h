// The options that say which deployment is meant, shared by all commands that plan one.
#ifndef SHARDPLAN_CLI_DEPLOYMENT_OPTIONS_H_
#define SHARDPLAN_CLI_DEPLOYMENT_OPTIONS_H_

#include <memory>
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

// The options of a deployment as they set `what`, for texts that come from elsewhere than the line.
class DeploymentReaders {
 public:
  explicit DeploymentReaders(DeploymentOptions* what) { AddDeploymentOptions(&set_, what); }
  const OptionSet& set() const { return set_; }

 private:
  std::shared_ptr<CLI::App> app_ = DetachedApp();
  OptionSet set_{app_.get()};
};

// "--assume KEY=VALUE", any number of times.
void AddAssumeOption(OptionSet* options, Assumptions* out);

// Reads "NAME=VALUE", a variable of the engine's environment: the ones with a meaning for memory
// become settings (VLLM_PP_LAYER_PARTITION and SGLang's the partition), the others go into the
// launch commands.
Status ParseVariable(const std::string& text, Deployment* out);

// Reads "vllm", "sglang" or either with a version, "vllm@0.31.0". Fails with kUsage for others.
Status ParseEngine(const std::string& text, Deployment* out);

}  // namespace shardplan::cli

#endif  // SHARDPLAN_CLI_DEPLOYMENT_OPTIONS_H_
