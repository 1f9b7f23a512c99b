#include "shardplan/report/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "report/findings_document.h"
#include "report/sections.h"
#include "report/text.h"
#include "shardplan/base/file.h"

namespace shardplan {
namespace {

constexpr size_t kWidth = 100;

int64_t CountOf(const std::vector<Finding>& findings, Severity severity) {
  return std::count_if(findings.begin(), findings.end(),
                       [&](const Finding& finding) { return finding.severity == severity; });
}

// "2 errors, 1 warning"; notes count only where there is nothing else.
std::string Tally(const std::vector<Finding>& findings) {
  std::string out;
  const auto add = [&](Severity severity, std::string_view one, std::string_view many) {
    const int64_t count = CountOf(findings, severity);
    if (count > 0) out += (out.empty() ? "" : ", ") + Plural(count, one, many);
  };
  add(Severity::kError, "error", "errors");
  add(Severity::kWarning, "warning", "warnings");
  return out;
}

std::string Closing(const CheckReport& report) {
  const std::string tally = Tally(report.findings);
  if (HasError(report.findings)) return tally + ": " + Printable(report.subject);
  std::string out = "clean";
  if (!tally.empty()) out += ", with " + tally;
  return out + ": " + (report.summary.empty() ? Printable(report.subject) : report.summary);
}

}  // namespace

std::string RenderCheck(const CheckReport& report, Format format, bool color) {
  const bool clean = !HasError(report.findings);
  if (format != Format::kTable) {
    const Document document = {
        {"schema_version", 1}, {"clean", clean}, {"findings", FindingsDocument(report.findings)}};
    return format == Format::kYaml ? DumpYaml(document) : DumpJson(document);
  }
  std::string out = FindingsSection(report.findings, kWidth);
  if (!out.empty()) out += "\n";
  std::string line = Wrap(Closing(report), kWidth, 0, 2);
  if (color) {
    const char* const paint = clean ? "\x1b[1;32m" : "\x1b[1;31m";
    line = paint + line.substr(0, line.size() - 1) + "\x1b[0m\n";
  }
  return out + line;
}

}  // namespace shardplan
