// A plan for people.
#ifndef SHARDPLAN_REPORT_PLAN_TABLE_H_
#define SHARDPLAN_REPORT_PLAN_TABLE_H_

#include <string>

#include "shardplan/plan/plan.h"

namespace shardplan {

struct TableOptions {
  bool color = false;    // the verdict in green or red (ANSI)
  bool verbose = false;  // with the source of every entry, all shard names, every node's command
  int width = 100;       // columns; commands and single numbers may be wider
};

// The plan as text, the most important line last: what memory there is, what the checkpoint holds,
// the ledger of the fullest rank of each stage, KV cache, activations, window, host memory, files,
// defaults, findings, the command for each node, and the verdict. The layout of the text may change
// between versions; scripts read RenderPlanJson.
//
// Names, paths and messages are untrusted and pass through Printable(); what is shown in a command
// is quoted by RenderCommand and stays exact.
std::string RenderPlanTable(const Plan& plan, const TableOptions& options = {});

}  // namespace shardplan

#endif  // SHARDPLAN_REPORT_PLAN_TABLE_H_
