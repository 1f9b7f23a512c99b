// Several deployments that differ in a few options.
#ifndef SHARDPLAN_CLI_VARIANTS_H_
#define SHARDPLAN_CLI_VARIANTS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "cli/deployment_options.h"
#include "cli/option_set.h"
#include "shardplan/base/result.h"
#include "shardplan/engine/settings.h"

namespace shardplan::cli {

// An option and the values that it takes in turn.
struct Axis {
  std::string option;               // as written, without dashes
  std::vector<std::string> values;  // as written; no two are equal
  std::string flag = "--vary";      // what gave it, for errors

  // The option itself, given more than once.
  bool is_own_flag() const { return flag == "--" + option; }
};

// Reads "OPTION=A,B,…". Where the text holds a semicolon, semicolons separate the values and commas
// belong to them: "pp-partition=48,45;47,46". One at the end separates nothing, so that
// "pp-partition=48,45;" is one value. An option whose values are lists (what stands for its value
// in the help holds a comma) takes semicolons only.
// Fails with kUsage, also where AddDeploymentOptions adds no such option (close names are told);
// `flag` is what errors are about.
Result<Axis> ParseAxis(const std::string& text, const std::string& flag = "--vary");

// The axis over --engine, where it is given, and those of --vary, in their order. Fails with kUsage
// as ParseAxis does, and for an engine that is there twice.
Result<std::vector<Axis>> ParseAxes(const std::vector<std::string>& engines,
                                    const std::vector<std::string>& vary);

// One deployment of several.
struct VariantOptions {
  std::vector<OptionValue> options;  // what sets it apart, in the order of the axes, as written
  DeploymentOptions what;
};

constexpr size_t kMostVariants = 16;

// Every combination of the axes' values, the last axis changing fastest, on top of `base`; without
// axes `base` alone. Values are read as the options themselves read them: whatever
// AddDeploymentOptions adds can vary. `given` are the options of the command's line: one that is
// there cannot vary as well. Fails with kUsage above `most`, and as the options' readers do.
Result<std::vector<VariantOptions>> MakeVariants(const DeploymentOptions& base,
                                                 const OptionSet& given,
                                                 const std::vector<Axis>& axes,
                                                 size_t most = kMostVariants);

}  // namespace shardplan::cli

#endif  // SHARDPLAN_CLI_VARIANTS_H_
