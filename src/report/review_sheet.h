// The README of a directory of artefacts: what a person reads before applying it.
#ifndef SHARDPLAN_REPORT_REVIEW_SHEET_H_
#define SHARDPLAN_REPORT_REVIEW_SHEET_H_

#include <string>
#include <vector>

#include "shardplan/launch/bundle.h"
#include "shardplan/plan/plan.h"

namespace shardplan {

// Markdown: verdict, files, what to fill in, the ledger of each stage, what it rests on, findings
// (the plan's and those of the files), what it does not promise, and the command, whose words are
// `line` without the program. Says nothing of the day, the machine or the directory: the same input
// gives the same bytes.
std::string RenderReviewSheet(const Plan& plan, const std::string& target, const Bundle& bundle,
                              const std::vector<Finding>& findings,
                              const std::vector<std::string>& line);

}  // namespace shardplan

#endif  // SHARDPLAN_REPORT_REVIEW_SHEET_H_
