#include "shardplan/report/inspection.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "report/inspection_sections.h"
#include "report/sections.h"
#include "report/shard_list.h"
#include "report/table.h"
#include "report/text.h"
#include "report/wide_table.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

std::string Share(int64_t part, int64_t whole) {
  if (whole <= 0) return "";
  const double percent = 100 * static_cast<double>(part) / static_cast<double>(whole);
  return part > 0 && percent < 0.05 ? "< 0.1 %" : fmt::format("{:.1f} %", percent);
}

std::string ActiveText(const Inspection& i) {
  return fmt::format("{} pass each text token ({})", FormatCount(*i.active_parameters),
                     Share(*i.active_parameters, i.totals.parameters));
}

std::string HeadSection(const Inspection& i, size_t width) {
  std::vector<std::pair<std::string, std::string>> facts = {
      {"source", Printable(i.source)},
      {"architecture",
       fmt::format("{}, family {}{}", Printable(i.architecture), Printable(i.family),
                   i.quantization.empty() ? "" : ", quantized: " + Printable(i.quantization))},
      {"shapes", i.basis == Basis::kExact ? "exact: read from the shard headers"
                                          : "derived: the family's, from config.json alone"}};
  if (!i.shards.empty()) {
    std::vector<std::string> names;
    for (const ShardInfo& shard : i.shards) names.push_back(shard.name);
    const std::vector<std::string> folded = FoldNames(names);
    facts.emplace_back("shards",
                       fmt::format("{}: {}{}", FormatCount(static_cast<int64_t>(i.shards.size())),
                                   folded[0], folded.size() > 1 ? " …" : ""));
  }
  facts.emplace_back("tensors", FormatCount(i.totals.tensors));
  facts.emplace_back("parameters",
                     fmt::format("{} in {} stored elements", FormatCount(i.totals.parameters),
                                 FormatCount(i.totals.elements)));
  if (i.active_parameters) facts.emplace_back("active", ActiveText(i));
  const auto bytes = [&](const char* label, Bytes value) {
    facts.emplace_back(label, fmt::format("{} = {}", FormatBytes(value), FormatGiB(value)));
  };
  bytes("payload", i.totals.bytes);
  if (i.header_bytes) {
    facts.emplace_back("headers", fmt::format("{} = {}", FormatBytes(*i.header_bytes),
                                              FormatAuto(*i.header_bytes)));
  }
  if (i.file_bytes) bytes("files", *i.file_bytes);
  return "Checkpoint\n" + RenderFacts(facts, width);
}

std::string RoleSection(const Inspection& i, size_t width) {
  using enum Align;
  TextTable table({kLeft, kRight, kRight, kRight, kRight, kLeft});
  table.AddRow({"", "tensors", "parameters", "bytes", "share", ""});
  Bytes most;
  for (const RoleAmount& role : i.by_role) most = std::max(most, role.amount.bytes);
  const auto add = [&](const std::string& label, const Amount& amount, Bytes of) {
    table.AddRow({label, FormatCount(amount.tensors), FormatCount(amount.parameters),
                  FormatAuto(amount.bytes), Share(amount.bytes.count(), i.totals.bytes.count()),
                  BarOf(amount.bytes, of)});
  };
  for (const RoleAmount& role : i.by_role) add(role.role, role.amount, most);
  add("= payload", i.totals, Bytes());
  return "Roles\n" + table.Render(width);
}

std::string DTypeSection(const Inspection& i, size_t width) {
  if (i.by_dtype.empty()) return "";
  if (i.by_dtype.size() == 1) {
    return fmt::format("Dtypes\n  all {}: {}\n", NameOf(i.by_dtype[0].dtype),
                       FormatAuto(i.by_dtype[0].amount.bytes));
  }
  WideTable table(i.by_dtype.size());
  std::vector<std::string> names, totals, elements, tensors;
  for (const DTypeAmount& dtype : i.by_dtype) {
    names.emplace_back(NameOf(dtype.dtype));
    totals.push_back(FormatAuto(dtype.amount.bytes));
    elements.push_back(FormatCount(dtype.amount.elements));
    tensors.push_back(FormatCount(dtype.amount.tensors));
  }
  table.AddRow("", names);
  for (const RoleAmount& role : i.by_role) {
    std::vector<std::string> cells(i.by_dtype.size());
    for (const DTypeAmount& part : role.by_dtype) {
      for (size_t c = 0; c < cells.size(); ++c) {
        if (i.by_dtype[c].dtype == part.dtype) cells[c] = FormatAuto(part.amount.bytes);
      }
    }
    table.AddRow(role.role, cells);
  }
  table.AddRow("= bytes", totals);
  table.AddRow("elements", elements);
  table.AddRow("tensors", tensors);
  return "Dtypes in the files\n" + table.Render(width);
}

std::string ShardSection(const Inspection& i, size_t width) {
  if (i.shards.empty()) return "";
  using enum Align;
  TextTable table({kRight, kRight, kRight, kLeft});
  table.AddRow({"tensors", "payload", "header", "name"});
  for (const ShardInfo& shard : i.shards) {
    table.AddRow({FormatCount(shard.tensors), FormatAuto(shard.payload_bytes),
                  FormatAuto(shard.header_bytes), Printable(shard.name)});
  }
  return "Shards\n" + table.Render(width);
}

std::string ClosingLine(const Inspection& i, size_t width) {
  int64_t warnings = 0;
  for (const Finding& finding : i.findings) warnings += finding.severity == Severity::kWarning;
  std::string text;
  if (i.basis == Basis::kExact) {
    text = fmt::format("sound: {} in {}, no hole and no overlap{}",
                       Plural(i.totals.tensors, "tensor", "tensors"),
                       Plural(static_cast<int64_t>(i.shards.size()), "shard", "shards"),
                       i.complete ? ", all that the config implies" : "");
  } else {
    text = fmt::format("derived: {} that the config implies; no headers to hold against",
                       Plural(i.totals.tensors, "tensor", "tensors"));
  }
  if (warnings > 0) text += "; " + Plural(warnings, "warning", "warnings");
  return Wrap(text, width, 0, 2);
}

}  // namespace

std::string RenderInspectionTable(const Inspection& inspection, bool verbose, int width) {
  const auto columns = static_cast<size_t>(std::max(width, 40));
  const std::array sections = {HeadSection(inspection, columns),
                               RoleSection(inspection, columns),
                               DTypeSection(inspection, columns),
                               LayerSection(inspection, columns),
                               StageSection(inspection, columns),
                               LargestSection(inspection, columns),
                               verbose ? ShardSection(inspection, columns) : std::string(),
                               FindingsSection(inspection.findings, columns),
                               ClosingLine(inspection, columns)};
  std::string out;
  for (const std::string& section : sections) {
    if (section.empty()) continue;
    if (!out.empty()) out += '\n';
    out += section;
  }
  return out;
}

}  // namespace shardplan
