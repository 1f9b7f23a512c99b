// The answer of a check: findings, and one line that sums them up.
#ifndef SHARDPLAN_REPORT_FINDINGS_H_
#define SHARDPLAN_REPORT_FINDINGS_H_

#include <string>
#include <vector>

#include "shardplan/base/finding.h"
#include "shardplan/report/format.h"

namespace shardplan {

struct CheckReport {
  std::string subject;            // what was checked, as given: a directory, a command
  std::string summary;            // what it is, where it is clean: "96 files, 497,220 tensors"
  std::vector<Finding> findings;  // sorted
};

// As a table, the findings and, last, "clean: SUMMARY" or "2 errors, 1 warning: SUBJECT"; otherwise
// {schema_version, clean, findings}. Clean is what has no error.
std::string RenderCheck(const CheckReport& report, Format format, bool color = false);

}  // namespace shardplan

#endif  // SHARDPLAN_REPORT_FINDINGS_H_
