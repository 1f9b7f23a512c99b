// Start-ups of real engines, as public logs and reports tell them (tests/data/cases/README.md).
#ifndef SHARDPLAN_TOOLS_ACCURACY_CASES_H_
#define SHARDPLAN_TOOLS_ACCURACY_CASES_H_

#include <optional>
#include <string>
#include <vector>

#include "shardplan/base/result.h"
#include "shardplan/model/family.h"
#include "shardplan/plan/deployment.h"
#include "shardplan/plan/plan.h"

namespace shardplan::accuracy {

struct Case {
  std::string id;
  std::string model;   // as its publisher calls it
  std::string source;  // address of the log; empty: published without one that lasts
  std::string config;  // the model's config.json, with what the case changes in it
  Assumptions assumptions;
  Deployment deployment;
  std::vector<std::string> unknown_flags;  // given to the engine, but not told

  // What the log printed; a figure that is not there was not printed, or belongs to another start.
  std::vector<double> weights_gib;  // one a pipeline stage
  std::vector<double> kv_gib;       // "Available KV cache memory", one a pipeline stage
  std::vector<double> pool_gib;     // SGLang's "KV Cache is allocated": K and V, or both in one
  std::optional<int64_t> kv_tokens;
  std::string result;      // "started", "refused", "oom"; empty: not told
  std::string stopped_at;  // where it stopped: "kv", "sampler_warmup", …

  bool compares_budget = false;  // kv_gib against what the flags alone predict
  bool unexplained = false;      // weights and result are shown and not judged
  std::string reason;            // why it is further off than others; may be empty
  std::string note;
};

// Reads cases/observed.jsonl below `data` and the configs that it names, in the file's order. Fails
// with kInvalidInput for a key that nobody knows: a flag that is dropped would be a wrong plan.
Result<std::vector<Case>> ReadCases(const std::string& data);

// The model as its config alone describes it, and its plan.
Result<Plan> PlanCase(const Case& c, const Deployment& deployment, const Catalog& catalog,
                      const ConfigStore& store);

}  // namespace shardplan::accuracy

#endif  // SHARDPLAN_TOOLS_ACCURACY_CASES_H_
