#include "shardplan/report/comparison.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/comparison_rows.h"
#include "report/engine_differences.h"
#include "report/plan_document.h"
#include "report/sections.h"
#include "report/table.h"
#include "report/text.h"
#include "report/wide_table.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

std::string TitleLine(const std::vector<Variant>& variants, size_t width) {
  const Plan& plan = variants[0].plan;
  std::string axes;
  for (const auto& [option, value] : variants[0].options) {
    axes += (axes.empty() ? " of " : " × ") + Printable(option);
  }
  return Wrap(
      fmt::format("{} ({}): {}{}", ShortSource(plan.source), Printable(plan.family),
                  Plural(static_cast<int64_t>(variants.size()), "variant", "variants"), axes),
      width, 0, 2);
}

std::string Trimmed(std::string text) {
  text.erase(0, text.find_first_not_of("= "));
  return text;
}

// The rows that differ as a table, those that don't as a sentence.
std::string Rows(const std::vector<Variant>& variants, size_t width) {
  WideTable table(variants.size());
  std::string same;
  for (const ComparisonGroup& group : ComparisonRows(variants)) {
    bool headed = group.heading.empty();
    for (const ComparisonRow& row : group.rows) {
      if (!row.always && variants.size() > 1 && row.IsSameInAll()) {
        same += fmt::format("{}{} {}{}", same.empty() ? "Same in all: " : "; ", Trimmed(row.label),
                            row.Common(), row.unit);
        continue;
      }
      if (row.only_same && !row.IsSameInAll()) continue;
      if (!headed) table.AddHeading(group.heading);
      headed = true;
      table.AddRow(row.label, row.cells);
    }
  }
  std::string out = table.Render(width);
  if (!same.empty()) out += "\n" + Wrap(same, width, 0, 2);
  return out;
}

// What is the engines' and what could be set otherwise, between the first variant of each.
std::string Engines(const std::vector<Variant>& variants, size_t width) {
  const std::vector<EngineDifference> differences = EngineDifferences(variants);
  if (differences.empty()) return "";
  TextTable table({Align::kLeft, Align::kLeft, Align::kLeft});
  for (const EngineDifference& difference : differences) {
    table.AddRow({difference.row, difference.is_rule ? "rule" : "choice", difference.text});
  }
  return "Why the engines differ\n" + table.Render(width) + "\n";
}

// Options that a variant's engine does not have: they change nothing there.
std::string Foreign(const std::vector<Variant>& variants, size_t width) {
  std::string out;
  for (size_t i = 0; i < variants.size(); ++i) {
    for (const Finding& finding : variants[i].plan.findings) {
      if (finding.id != "engine.foreign_option") continue;
      out += Wrap(fmt::format("In {}: {}: {}", i + 1, Printable(finding.subject, 300),
                              Printable(finding.message)),
                  width, 0, 2);
    }
  }
  return out.empty() ? "" : out + "\n";
}

std::string Verdicts(const std::vector<Variant>& variants, size_t width) {
  const size_t number = std::to_string(variants.size()).size();
  std::string out = "Verdicts\n";
  for (size_t i = 0; i < variants.size(); ++i) {
    const std::string line = std::string(2, ' ') + PadLeft(std::to_string(i + 1), number) + "  ";
    out += Wrap(VerdictText(variants[i].plan), width, line.size(), line.size() + 2)
               .replace(0, line.size(), line);
  }
  return out;
}

std::string ClosingLine(const std::vector<Variant>& variants, size_t width, bool color) {
  std::vector<std::string> fitting;
  size_t best = 0;
  double most = -1;
  for (size_t i = 0; i < variants.size(); ++i) {
    const Plan& plan = variants[i].plan;
    if (plan.verdict != Verdict::kFits) continue;
    fitting.push_back(std::to_string(i + 1));
    if (!plan.kv) continue;
    // The capacity is told of one engine.
    const double requests = plan.kv->max_concurrency * static_cast<double>(plan.sizes.dp);
    if (requests > most) {
      best = i;
      most = requests;
    }
  }
  const size_t all = variants.size();
  std::string text =
      fitting.empty()
          ? (all == 1 ? "the variant does not fit" : fmt::format("none of {} variants fits", all))
      : fitting.size() == all
          ? (all == 1   ? "the variant fits"
             : all == 2 ? "both variants fit"
                        : fmt::format("all {} variants fit", all))
          : fmt::format("{} of {} variants {}: {}", fitting.size(), all,
                        fitting.size() == 1 ? "fits" : "fit", fmt::join(fitting, ", "));
  if (most >= 0 && all > 1) {
    text += fmt::format("; most requests at once in {}: {}", best + 1, FormatTimes(most));
    const int64_t engines = variants[best].plan.sizes.dp;
    if (engines > 1) text += fmt::format(" on {} engines", engines);
  }
  std::string out = Wrap(text, width, 0, 2);
  if (color) {
    const char* const paint = fitting.size() == all ? "\x1b[1;32m" : "\x1b[1;31m";
    out = paint + out.substr(0, out.size() - 1) + "\x1b[0m\n";
  }
  return out;
}

Document ToDocument(const std::vector<Variant>& variants) {
  Document plans = Document::array();
  for (const Variant& variant : variants) {
    Document options = Document::object();
    for (const auto& [option, value] : variant.options) options[option] = value;
    Document plan = PlanDocument(variant.plan);
    plan["variant"] = std::move(options);
    plans.push_back(std::move(plan));
  }
  Document differences = Document::array();
  for (const EngineDifference& difference : EngineDifferences(variants)) {
    differences.push_back({{"row", difference.row},
                           {"kind", difference.is_rule ? "rule" : "choice"},
                           {"text", difference.text}});
  }
  return {{"schema_version", 1},
          {"plans", std::move(plans)},
          {"engine_differences", std::move(differences)}};
}

}  // namespace

std::string RenderComparisonTable(const std::vector<Variant>& variants,
                                  const TableOptions& options) {
  if (variants.empty()) return "";
  const auto width = static_cast<size_t>(std::max(options.width, 40));
  return TitleLine(variants, width) + "\n" + Rows(variants, width) + "\n" +
         Foreign(variants, width) + Engines(variants, width) + Verdicts(variants, width) + "\n" +
         ClosingLine(variants, width, options.color);
}

std::string RenderComparisonJson(const std::vector<Variant>& variants) {
  return DumpJson(ToDocument(variants));
}
std::string RenderComparisonYaml(const std::vector<Variant>& variants) {
  return DumpYaml(ToDocument(variants));
}

}  // namespace shardplan
