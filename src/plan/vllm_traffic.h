// What vLLM's ranks send each other in one step.
#ifndef SHARDPLAN_PLAN_VLLM_TRAFFIC_H_
#define SHARDPLAN_PLAN_VLLM_TRAFFIC_H_

#include "plan/prepare.h"
#include "shardplan/plan/traffic.h"

namespace shardplan {

// Of a legal layout (docs/traffic.md has the formulas). `brief` leaves the words out.
TrafficPlan MakeVllmTraffic(const Prepared& prepared, bool brief);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_VLLM_TRAFFIC_H_
