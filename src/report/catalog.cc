#include "shardplan/report/catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "report/document.h"
#include "report/table.h"
#include "report/text.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

std::string RenderDocument(std::string_view kind, Document entries, Format format) {
  Document document = {{"schema_version", 1}};
  document[std::string(kind)] = std::move(entries);
  return format == Format::kYaml ? DumpYaml(document) : DumpJson(document);
}

std::string RenderTable(const TextTable& table, int width) {
  return table.Render(static_cast<size_t>(std::max(width, 40)));
}

Document SourcedDocument(const SourcedBytes& value) {
  return {{"bytes", value.bytes.central.count()},
          {"low_bytes", value.bytes.low.count()},
          {"high_bytes", value.bytes.high.count()},
          {"basis", ToString(value.basis)},
          {"source", value.source}};
}

Document GpuDocument(const GpuSpec& gpu) {
  return {{"id", gpu.id},
          {"name", gpu.name},
          {"vendor", gpu.vendor},
          {"aliases", gpu.aliases},
          {"nominal_gb", gpu.nominal_gb},
          {"device_total", SourcedDocument(gpu.device_total)},
          {"cuda_visible", SourcedDocument(gpu.cuda_visible)},
          {"context", SourcedDocument(gpu.context)},
          {"capability", gpu.capability},
          {"multiprocessors", gpu.multiprocessors},
          {"memory_gb_per_s", gpu.memory_gb_per_s},
          {"nvlink_gb_per_s", gpu.nvlink_gb_per_s},
          {"pcie_gb_per_s", gpu.pcie_gb_per_s},
          {"specification",
           {{"basis", ToString(gpu.specification_basis)}, {"source", gpu.specification_source}}}};
}

// "GPU 0–3 on NUMA 0, 4–7 on NUMA 1"
std::string DescribeNuma(const NodeSpec& node) {
  std::string text;
  for (size_t i = 0; i < node.numa_of_gpu.size();) {
    size_t end = i + 1;
    while (end < node.numa_of_gpu.size() && node.numa_of_gpu[end] == node.numa_of_gpu[i]) ++end;
    text += fmt::format("{}{}{} on NUMA {}", i == 0 ? "GPU " : ", ", i,
                        end - i > 1 ? fmt::format("–{}", end - 1) : "", node.numa_of_gpu[i]);
    i = end;
  }
  return text;
}

// Whole numbers as such; null for no bound.
Document BoundDocument(double bound) {
  if (std::isinf(bound)) return nullptr;
  if (bound == std::floor(bound)) return static_cast<int64_t>(bound);
  return bound;
}

Document IssueDocument(const KnownIssue& issue) {
  Document when = Document::object();
  for (const IssueCondition& condition : issue.when) {
    if (condition.is_text()) {
      when[condition.fact] = condition.words;
      continue;
    }
    when[condition.fact] = {{"min", BoundDocument(condition.least)},
                            {"max", BoundDocument(condition.most)}};
  }
  const auto version = [](const std::string& text) -> Document {
    return text.empty() ? Document(nullptr) : Document(text);
  };
  return {{"id", issue.id},
          {"severity", ToString(issue.severity)},
          {"engine", issue.engine},
          {"since", version(issue.since)},
          {"fixed", version(issue.fixed)},
          {"seen", version(issue.seen)},
          {"when", std::move(when)},
          {"subject", issue.subject},
          {"message", issue.message},
          {"fix", issue.fix},
          {"source", issue.source},
          {"date", issue.date}};
}

// "vllm 0.25.0 until 0.28.0"
std::string VersionsOf(const KnownIssue& issue) {
  std::string text = issue.engine;
  if (!issue.since.empty()) text += fmt::format(" {}", issue.since);
  if (!issue.fixed.empty()) text += fmt::format(" until {}", issue.fixed);
  return Printable(text);
}

}  // namespace

std::string RenderGpus(const std::vector<GpuSpec>& gpus, Format format, int width) {
  if (format != Format::kTable) {
    Document entries = Document::array();
    for (const GpuSpec& gpu : gpus) entries.push_back(GpuDocument(gpu));
    return RenderDocument("gpus", std::move(entries), format);
  }
  using enum Align;
  TextTable table({kLeft, kRight, kRight, kLeft, kLeft}, 0);
  table.AddRow({"id", "card", "CUDA sees", "which is", "name (and other ids)"});
  for (const GpuSpec& gpu : gpus) {
    std::string name = Printable(gpu.name);
    if (!gpu.aliases.empty()) {
      name += Printable(fmt::format(" ({})", fmt::join(gpu.aliases, ", ")));
    }
    table.AddRow({Printable(gpu.id), FormatMiB(gpu.device_total.bytes.central),
                  FormatGiB(gpu.cuda_visible.bytes.central),
                  std::string(ToString(gpu.cuda_visible.basis)), std::move(name)});
  }
  return RenderTable(table, width);
}

std::string RenderNodes(const std::vector<NodeSpec>& nodes, Format format, int width) {
  if (format != Format::kTable) {
    Document entries = Document::array();
    for (const NodeSpec& node : nodes) {
      entries.push_back({{"id", node.id},
                         {"gpus", node.numa_of_gpu.size()},
                         {"numa_of_gpu", node.numa_of_gpu},
                         {"basis", ToString(node.basis)},
                         {"source", node.source}});
    }
    return RenderDocument("nodes", std::move(entries), format);
  }
  TextTable table({Align::kLeft, Align::kRight, Align::kLeft, Align::kLeft}, 0);
  table.AddRow({"id", "GPUs", "known by", "NUMA nodes"});
  for (const NodeSpec& node : nodes) {
    table.AddRow({Printable(node.id), std::to_string(node.numa_of_gpu.size()),
                  std::string(ToString(node.basis)), DescribeNuma(node)});
  }
  return RenderTable(table, width);
}

std::string RenderEngines(const std::vector<EngineListing>& engines, Format format, int width) {
  if (format != Format::kTable) {
    Document entries = Document::array();
    for (const EngineListing& engine : engines) {
      entries.push_back({{"name", engine.name},
                         {"version", engine.version},
                         {"newest", engine.newest},
                         {"rules",
                          {{"source", engine.from_source},
                           {"log", engine.from_logs},
                           {"assumed", engine.assumed}}}});
    }
    return RenderDocument("engines", std::move(entries), format);
  }
  TextTable table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kLeft}, 0);
  table.AddRow({"engine", "rules from source", "from logs", "assumed", ""});
  for (const EngineListing& engine : engines) {
    table.AddRow({Printable(engine.name + "@" + engine.version), std::to_string(engine.from_source),
                  std::to_string(engine.from_logs), std::to_string(engine.assumed),
                  engine.newest ? "the default: plain " + Printable(engine.name) : ""});
  }
  return RenderTable(table, width);
}

std::string RenderIssues(const std::vector<KnownIssue>& issues, Format format, int width) {
  if (format != Format::kTable) {
    Document entries = Document::array();
    for (const KnownIssue& issue : issues) entries.push_back(IssueDocument(issue));
    return RenderDocument("issues", std::move(entries), format);
  }
  TextTable table({Align::kLeft, Align::kLeft, Align::kLeft, Align::kLeft}, 0);
  table.AddRow({"issue", "severity", "versions", "message"});
  for (const KnownIssue& issue : issues) {
    table.AddRow({Printable(issue.id), std::string(ToString(issue.severity)), VersionsOf(issue),
                  Printable(issue.message, 1000)});
  }
  return RenderTable(table, width);
}

std::string RenderFamilies(const std::vector<FamilyInfo>& families, Format format, int width) {
  if (format != Format::kTable) {
    Document entries = Document::array();
    for (const FamilyInfo& family : families) {
      entries.push_back({{"id", family.id},
                         {"architectures", family.architectures},
                         {"description", family.description}});
    }
    return RenderDocument("families", std::move(entries), format);
  }
  TextTable table({Align::kLeft, Align::kLeft}, 0);
  table.AddRow({"family", "description and config.json \"architectures\""});
  for (const FamilyInfo& family : families) {
    table.AddRow({std::string(family.id), std::string(family.description)});
    for (const std::string_view architecture : family.architectures) {
      table.AddRow({"", "  " + std::string(architecture)});
    }
  }
  return RenderTable(table, width);
}

}  // namespace shardplan
