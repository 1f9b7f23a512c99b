// Things worth telling that do not stop the work.
#ifndef SHARDPLAN_BASE_FINDING_H_
#define SHARDPLAN_BASE_FINDING_H_

#include <string>
#include <string_view>
#include <vector>

namespace shardplan {

enum class Severity { kError, kWarning, kNote };

std::string_view ToString(Severity severity);  // "error", "warning", "note"

// A finding has a stable id ("layout.heads"), names what it is about, says it in one sentence and,
// where something can be done, how to mend it. Ids are part of the interface.
struct Finding {
  std::string id;
  Severity severity = Severity::kNote;
  std::string subject;
  std::string message;
  std::string fix;
};

// Sorts by severity (errors first), then id, then subject: the order in which findings are shown.
void SortFindings(std::vector<Finding>& findings);

bool HasError(const std::vector<Finding>& findings);

}  // namespace shardplan

#endif  // SHARDPLAN_BASE_FINDING_H_
