// A plan as a document, for those who put it into a larger one.
#ifndef SHARDPLAN_REPORT_PLAN_DOCUMENT_H_
#define SHARDPLAN_REPORT_PLAN_DOCUMENT_H_

#include "report/document.h"
#include "shardplan/plan/plan.h"

namespace shardplan {

// What RenderPlanJson prints (plan_json.cc).
Document PlanDocument(const Plan& plan);

// Its "kv_cache".
Document KvDocument(const KvPlan& kv);

// Its "static_memory" (static_memory.cc).
Document StaticMemoryDocument(const StaticMemoryPlan& memory);

// Its "traffic" and the rates in it (traffic_section.cc), its "loading" (loading_section.cc) and
// its "expert_load" (expert_load_section.cc).
Document TrafficDocument(const TrafficPlan& traffic);
Document RatesDocument(const LinkRates& rates);
Document LoadingDocument(const LoadingPlan& loading);
Document ExpertLoadDocument(const ExpertLoadPlan& load);

}  // namespace shardplan

#endif  // SHARDPLAN_REPORT_PLAN_DOCUMENT_H_
