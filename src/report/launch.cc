#include "shardplan/report/launch.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "report/document.h"
#include "report/sections.h"
#include "report/table.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

std::string Dump(const Document& document, Format format) {
  return format == Format::kYaml ? DumpYaml(document) : DumpJson(document);
}

Document Describe(const std::string& target, const Bundle& bundle, bool with_text) {
  Document files = Document::array();
  for (const Artefact& file : bundle.files) {
    Document entry = {
        {"path", file.path}, {"bytes", file.text.size()}, {"executable", file.executable}};
    if (with_text) entry["text"] = file.text;
    files.push_back(std::move(entry));
  }
  return {{"schema_version", 1}, {"target", target}, {"files", std::move(files)}};
}

}  // namespace

std::string VerdictLine(const Plan& plan) { return VerdictText(plan); }

std::string RenderLaunch(const std::string& target, const Bundle& bundle, Format format) {
  if (format == Format::kTable) return RenderBundle(bundle);
  return Dump(Describe(target, bundle, true), format);
}

std::string RenderLaunchReport(const std::string& target, const Bundle& bundle,
                               const std::string& directory, Format format) {
  if (format != Format::kTable) {
    Document document = Describe(target, bundle, false);
    document["directory"] = directory;
    return Dump(document, format);
  }
  std::string out = fmt::format("Written to {}\n", Printable(directory));
  std::vector<std::pair<std::string, std::string>> facts;
  for (const Artefact& file : bundle.files) {
    facts.emplace_back(Printable(file.path),
                       FormatBytes(Bytes(static_cast<int64_t>(file.text.size()))));
  }
  return out + RenderFacts(facts, 100);
}

}  // namespace shardplan
