// Settings that take less memory than an engine's defaults.
#ifndef SHARDPLAN_PLAN_ECONOMIES_H_
#define SHARDPLAN_PLAN_ECONOMIES_H_

#include <vector>

#include "shardplan/plan/layout_search.h"
#include "shardplan/plan/plan.h"

namespace shardplan {

struct Economy {
  std::vector<OptionValue> chosen;  // options that were set; a switch has no value
  Deployment deployment;
};

// A deployment of vLLM and what makes it smaller, mildest first: as it is, fewer sequences, then
// shorter prefill chunks as well, then no CUDA graphs. Each takes no more memory than the one
// before. What `given` says was asked for stays, sequences stay enough for the concurrency that is
// required, and nothing here changes what the model computes. `plan`, a brief one will do, is the
// deployment's: its defaults are what is made smaller.
std::vector<Economy> EconomiesOf(const Deployment& deployment, const GivenSizes& given,
                                 const Plan& plan);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_ECONOMIES_H_
