// A plan for programs.
#ifndef SHARDPLAN_REPORT_PLAN_JSON_H_
#define SHARDPLAN_REPORT_PLAN_JSON_H_

#include <string>

#include "shardplan/plan/plan.h"

namespace shardplan {

// One JSON document with "schema_version": 1, ended by a newline. Integers are bytes or counts,
// unknown is null, and the order of keys and entries is fixed: ranks by number, findings by
// severity, id and subject. Fields may be added in later versions, never renamed. Bytes of names
// that are not UTF-8 become U+FFFD.
//
// With an illegal layout "ranks", "host", "files" and "launch" are empty and "kv_cache" is null;
// without shard headers the names in "files" are null.
std::string RenderPlanJson(const Plan& plan);

// The same document as YAML, every string quoted.
std::string RenderPlanYaml(const Plan& plan);

}  // namespace shardplan

#endif  // SHARDPLAN_REPORT_PLAN_JSON_H_
