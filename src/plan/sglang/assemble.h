// Puts an evaluated deployment of SGLang together: ranks, pools, verdict, host, files, launch.
#ifndef SHARDPLAN_PLAN_SGLANG_ASSEMBLE_H_
#define SHARDPLAN_PLAN_SGLANG_ASSEMBLE_H_

#include "plan/sglang/evaluate.h"
#include "plan/sglang/prepare.h"
#include "shardplan/plan/plan.h"

namespace shardplan {

// What was asked for of one rank, in tokens and states, and what its pools are short of.
struct SglangDemand {
  int64_t tokens = 0;  // of the KV pool: full windows in whole pages, divided by DCP
  int64_t states = 0;  // slots
  int64_t requests = 0;
};
// Whether somebody asked for the window: SGLang starts with a pool that does not hold the model's.
bool IsWindowAsked(const SglangPrepared& prepared);

SglangDemand DemandOf(const SglangPrepared& prepared, const sglang::Pools& pools);

// Whether pools of one end hold the demand and start at all.
bool PoolsHold(const SglangPrepared& prepared, const sglang::Pools& pools);

// The largest --mem-fraction-static, to three digits, that leaves room for graphs, activations and
// workspaces; nothing where none does.
std::optional<double> LargestFraction(const SglangEnvironment& environment,
                                      const Deployment& deployment);

// The plan without solved fixes; `brief` as Planner::Assemble.
Result<Plan> AssembleSglang(const SglangEnvironment& environment, const Deployment& deployment,
                            bool brief);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_SGLANG_ASSEMBLE_H_
