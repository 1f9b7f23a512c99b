// Several plans side by side.
#ifndef SHARDPLAN_REPORT_COMPARISON_H_
#define SHARDPLAN_REPORT_COMPARISON_H_

#include <string>
#include <vector>

#include "shardplan/engine/settings.h"
#include "shardplan/plan/plan.h"
#include "shardplan/report/plan_table.h"

namespace shardplan {

struct Variant {
  std::vector<OptionValue> options;  // what sets it apart: option and value, as the user wrote them
  Plan plan;
};

// One column a variant: its options, verdict, what limits it, the ledger of its fullest rank, KV
// cache. Rows that are equal in all variants are told once, below; columns that do not fit stand in
// further blocks. The last lines are the verdicts. The layout of the text may change.
std::string RenderComparisonTable(const std::vector<Variant>& variants,
                                  const TableOptions& options = {});

// {"schema_version": 1, "plans": […]}: each plan as RenderPlanJson has it, with "variant", an
// object of its options, added.
std::string RenderComparisonJson(const std::vector<Variant>& variants);
std::string RenderComparisonYaml(const std::vector<Variant>& variants);

}  // namespace shardplan

#endif  // SHARDPLAN_REPORT_COMPARISON_H_
