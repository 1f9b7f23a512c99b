// A checkpoint's contents, for people and for programs.
#ifndef SHARDPLAN_REPORT_INSPECTION_H_
#define SHARDPLAN_REPORT_INSPECTION_H_

#include <string>

#include "shardplan/plan/inspection.h"

namespace shardplan {

// Totals, roles, dtypes, layers (those that hold the same on one line), stages where there are
// several, largest tensors and findings. `verbose` lists every shard. The layout of the text may
// change; scripts read the document. Names from files pass through Printable().
std::string RenderInspectionTable(const Inspection& inspection, bool verbose = false,
                                  int width = 100);

// One document with "schema_version": 1; sizes in bytes, unknown is null, order is fixed.
std::string RenderInspectionJson(const Inspection& inspection);
std::string RenderInspectionYaml(const Inspection& inspection);

}  // namespace shardplan

#endif  // SHARDPLAN_REPORT_INSPECTION_H_
