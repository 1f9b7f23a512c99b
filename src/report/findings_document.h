// Findings in a document.
#ifndef SHARDPLAN_REPORT_FINDINGS_DOCUMENT_H_
#define SHARDPLAN_REPORT_FINDINGS_DOCUMENT_H_

#include <vector>

#include "report/document.h"
#include "shardplan/base/finding.h"

namespace shardplan {

// [{id, severity, subject, message, fix}], in their order.
inline Document FindingsDocument(const std::vector<Finding>& findings) {
  Document out = Document::array();
  for (const Finding& finding : findings) {
    out.push_back({{"id", finding.id},
                   {"severity", ToString(finding.severity)},
                   {"subject", finding.subject},
                   {"message", finding.message},
                   {"fix", finding.fix}});
  }
  return out;
}

}  // namespace shardplan

#endif  // SHARDPLAN_REPORT_FINDINGS_DOCUMENT_H_
