// Start-ups of real engines, as public logs and reports tell them (tests/data/cases/README.md).
#ifndef SHARDPLAN_TOOLS_ACCURACY_CASES_H_
#define SHARDPLAN_TOOLS_ACCURACY_CASES_H_

#include <string>
#include <vector>

#include "shardplan/base/result.h"
#include "shardplan/model/family.h"
#include "shardplan/plan/deployment.h"

namespace shardplan::accuracy {

struct Case {
  std::string id;
  std::string model;   // as its publisher calls it
  std::string source;  // address of the log; empty: published without one that lasts
  std::string config;  // the model's config.json, with what the case changes in it
  Assumptions assumptions;
  Deployment deployment;
  std::vector<double> weights_gib;  // as printed, one a pipeline stage
  std::string reason;               // why it is further off than others; may be empty
  std::string note;
};

// Reads cases/observed.jsonl below `data` and the configs that it names, in the file's order. Fails
// with kInvalidInput for a key that nobody knows: a flag that is dropped would be a wrong plan.
Result<std::vector<Case>> ReadCases(const std::string& data);

}  // namespace shardplan::accuracy

#endif  // SHARDPLAN_TOOLS_ACCURACY_CASES_H_
