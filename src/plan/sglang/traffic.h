// What SGLang's ranks send each other in one step.
#ifndef SHARDPLAN_PLAN_SGLANG_TRAFFIC_H_
#define SHARDPLAN_PLAN_SGLANG_TRAFFIC_H_

#include "plan/sglang/prepare.h"
#include "shardplan/plan/traffic.h"

namespace shardplan {

// Of a legal layout; `requests` may run on one DP rank (docs/traffic.md has the formulas). `brief`
// leaves the words out.
TrafficPlan MakeSglangTraffic(const SglangPrepared& prepared, int64_t requests, bool brief);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_SGLANG_TRAFFIC_H_
