#include "shardplan/report/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "report/plan_document.h"
#include "report/sections.h"
#include "report/text.h"
#include "report/wide_table.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

constexpr char kShort[] = "✗";
constexpr char kUnsure[] = "?";
constexpr char kNone[] = "–";
constexpr size_t kReasonLimit = 600;

// A figure of the cells, as a column or a matrix of its own.
struct Figure {
  std::string heading;
  std::function<std::string(const SweepCell&)> text;
};

std::string NumberOfGiB(Bytes bytes) {
  const std::string text = FormatGiB(bytes);
  return text.substr(0, text.find(' '));
}

bool AnyTypical(const Sweep& sweep) {
  return std::any_of(sweep.cells.begin(), sweep.cells.end(),
                     [](const SweepCell& cell) { return cell.kv && cell.kv->typical_concurrency; });
}

std::vector<Figure> Figures(const Sweep& sweep) {
  const auto of_kv = [](std::function<std::string(const KvPlan&)> text) {
    return [text = std::move(text)](const SweepCell& cell) {
      return cell.kv ? text(*cell.kv) : std::string(kNone);
    };
  };
  std::vector<Figure> figures = {
      {"capacity, tokens", of_kv([](const KvPlan& kv) { return FormatCount(kv.tokens); })},
      {"concurrency at the full window",
       of_kv([](const KvPlan& kv) { return FormatTimes(kv.max_concurrency); })}};
  if (AnyTypical(sweep)) {
    figures.push_back({"concurrency at the typical length", of_kv([](const KvPlan& kv) {
                         return kv.typical_concurrency ? FormatTimes(*kv.typical_concurrency)
                                                       : std::string(kNone);
                       })});
  }
  figures.push_back({"headroom, GiB, the least of all ranks", [](const SweepCell& cell) {
                       return cell.headroom ? NumberOfGiB(*cell.headroom) : std::string(kNone);
                     }});
  return figures;
}

std::string_view MarkOf(const SweepCell& cell) {
  if (cell.verdict == Verdict::kDoesNotFit) return kShort;
  if (cell.verdict == Verdict::kFits && cell.unsure) return kUnsure;
  return "";
}

std::string VerdictWords(const SweepCell& cell) {
  switch (cell.verdict) {
    case Verdict::kFits:
      return cell.unsure ? "fits ?" : "fits";
    case Verdict::kDoesNotFit:
      return "does not fit";
    case Verdict::kIllegal:
      break;
  }
  return "illegal";
}

// Values down, figures across.
std::string OneAxis(const Sweep& sweep, size_t width) {
  const SweepAxis& axis = sweep.axes[0];
  std::vector<Figure> figures = Figures(sweep);
  figures[1].heading = "full windows";
  if (figures.size() == 4) figures[2].heading = "typical";
  figures.back().heading = "headroom, GiB";
  WideTable table(figures.size() + 2);
  std::vector<std::string> heads = {"verdict", "blocks"};
  for (const Figure& figure : figures) heads.push_back(figure.heading);
  table.AddRow(Printable(axis.option), std::move(heads));
  for (size_t i = 0; i < axis.values.size(); ++i) {
    const SweepCell& cell = sweep.cells[i];
    std::vector<std::string> cells = {VerdictWords(cell),
                                      cell.kv ? FormatCount(cell.kv->num_blocks) : kNone};
    for (const Figure& figure : figures) cells.push_back(figure.text(cell));
    table.AddRow(Printable(axis.values[i].text), std::move(cells));
  }
  return table.Render(width);
}

// One matrix a figure: the first axis down, the second across.
std::string TwoAxes(const Sweep& sweep, size_t width) {
  const SweepAxis& down = sweep.axes[0];
  const SweepAxis& across = sweep.axes[1];
  const bool marked = std::any_of(sweep.cells.begin(), sweep.cells.end(),
                                  [](const SweepCell& cell) { return !MarkOf(cell).empty(); });
  // A column for the marks, so that digits stay under each other.
  const auto with_mark = [&](const std::string& text, std::string_view mark) {
    return marked ? text + " " + PadRight(mark, 1) : text;
  };
  std::string out =
      fmt::format("{} down, {} across\n", Printable(down.option), Printable(across.option));
  for (const Figure& figure : Figures(sweep)) {
    WideTable table(across.values.size());
    std::vector<std::string> heads;
    for (const SweepValue& value : across.values) {
      heads.push_back(with_mark(Printable(value.text), ""));
    }
    table.AddRow("", std::move(heads));
    for (size_t i = 0; i < down.values.size(); ++i) {
      std::vector<std::string> cells;
      for (size_t j = 0; j < across.values.size(); ++j) {
        const SweepCell& cell = sweep.cells[i * across.values.size() + j];
        cells.push_back(with_mark(figure.text(cell), MarkOf(cell)));
      }
      table.AddRow(Printable(down.values[i].text), std::move(cells));
    }
    std::string heading = figure.heading;
    heading[0] = static_cast<char>(heading[0] - 'a' + 'A');
    out += "\n" + heading + "\n" + table.Render(width);
  }
  return out;
}

std::string NameOf(const Sweep& sweep, size_t index) {
  std::vector<std::string> parts;
  for (size_t axis = sweep.axes.size(); axis-- > 0;) {
    const std::vector<SweepValue>& values = sweep.axes[axis].values;
    parts.insert(parts.begin(), fmt::format("{}={}", Printable(sweep.axes[axis].option),
                                            Printable(values[index % values.size()].text)));
    index /= values.size();
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string Legend(const Sweep& sweep, size_t width) {
  std::string text;
  const auto add = [&](bool present, std::string_view more) {
    if (present) text += (text.empty() ? "" : "; ") + std::string(more);
  };
  const auto any = [&](auto is) { return std::any_of(sweep.cells.begin(), sweep.cells.end(), is); };
  const bool matrix = sweep.axes.size() > 1;
  add(matrix && any([](const SweepCell& c) { return c.verdict == Verdict::kDoesNotFit; }),
      fmt::format("{} does not fit", kShort));
  add(any([](const SweepCell& c) { return c.verdict == Verdict::kFits && c.unsure; }),
      fmt::format("{} fits, but not at the dear end of the ranges", kUnsure));
  add(matrix && any([](const SweepCell& c) { return c.verdict == Verdict::kIllegal; }),
      fmt::format("{} illegal", kNone));
  return text.empty() ? "" : Wrap(text, width, 2, 2);
}

// What the first cell that does not fit is short of. Figures differ from cell to cell, so that the
// others are only counted; --format json has the reason of each.
std::string ReasonOfTheFirstShort(const Sweep& sweep, size_t width) {
  std::optional<size_t> first;
  int64_t more = 0;
  for (size_t i = 0; i < sweep.cells.size(); ++i) {
    if (sweep.cells[i].verdict != Verdict::kDoesNotFit) continue;
    if (first) ++more;
    if (!first) first = i;
  }
  if (!first || sweep.cells[*first].reason.empty()) return "";
  std::string text = fmt::format("does not fit at {}: {}", NameOf(sweep, *first),
                                 Printable(sweep.cells[*first].reason, kReasonLimit));
  if (more > 0) text += fmt::format("; so with {}", Plural(more, "cell more", "cells more"));
  return Wrap(text, width, 0, 2);
}

// Reasons, each once, with the first cell that has it.
std::string Reasons(const Sweep& sweep, size_t width) {
  std::string out;
  std::vector<bool> told(sweep.cells.size());
  for (size_t i = 0; i < sweep.cells.size(); ++i) {
    const SweepCell& cell = sweep.cells[i];
    if (told[i] || cell.verdict != Verdict::kIllegal) continue;
    size_t more = 0;
    for (size_t j = i + 1; j < sweep.cells.size(); ++j) {
      if (sweep.cells[j].reason != cell.reason) continue;
      told[j] = true;
      ++more;
    }
    std::string text = "illegal at " + NameOf(sweep, i);
    if (more > 0)
      text +=
          fmt::format(" and in {}", Plural(static_cast<int64_t>(more), "cell more", "cells more"));
    out += Wrap(text + ": " + Printable(cell.reason, kReasonLimit), width, 0, 2);
  }
  return out + ReasonOfTheFirstShort(sweep, width);
}

// Of all engines of the deployment.
double RequestsOf(const SweepCell& cell) {
  return cell.kv->max_concurrency * static_cast<double>(cell.engines);
}

std::string ClosingLine(const Sweep& sweep, size_t width, bool color) {
  size_t fitting = 0;
  std::optional<size_t> best;
  for (size_t i = 0; i < sweep.cells.size(); ++i) {
    const SweepCell& cell = sweep.cells[i];
    if (cell.verdict != Verdict::kFits) continue;
    ++fitting;
    if (!best || RequestsOf(cell) > RequestsOf(sweep.cells[*best])) best = i;
  }
  const size_t all = sweep.cells.size();
  std::string text =
      fitting == all ? (all == 1 ? "the cell fits" : fmt::format("all {} cells fit", all))
      : fitting == 0
          ? (all == 1 ? "the cell does not fit" : fmt::format("none of {} cells fits", all))
          : fmt::format("{} of {} cells {}", fitting, all, fitting == 1 ? "fits" : "fit");
  if (best && all > 1) {
    const SweepCell& cell = sweep.cells[*best];
    text += fmt::format("; most requests at once at {}: {}", NameOf(sweep, *best),
                        FormatTimes(RequestsOf(cell)));
    if (cell.engines > 1) text += fmt::format(" on {} engines", cell.engines);
  }
  std::string out = Wrap(text, width, 0, 2);
  if (color) {
    const char* const paint = fitting == all ? "\x1b[1;32m" : "\x1b[1;31m";
    out = paint + out.substr(0, out.size() - 1) + "\x1b[0m\n";
  }
  return out;
}

Document NumberDocument(const SweepValue& value) {
  return std::visit([](auto number) { return Document(number); }, value.number);
}

Document ToDocument(const Sweep& sweep) {
  Document axes = Document::array();
  for (const SweepAxis& axis : sweep.axes) {
    Document values = Document::array();
    for (const SweepValue& value : axis.values) values.push_back(NumberDocument(value));
    axes.push_back({{"option", axis.option}, {"values", std::move(values)}});
  }
  Document cells = Document::array();
  for (size_t i = 0; i < sweep.cells.size(); ++i) {
    const SweepCell& cell = sweep.cells[i];
    Document at = Document::object();
    size_t stride = sweep.cells.size();
    for (const SweepAxis& axis : sweep.axes) {
      stride /= axis.values.size();
      at[axis.option] = NumberDocument(axis.values[i / stride % axis.values.size()]);
    }
    Document headroom = nullptr;
    if (cell.headroom) headroom = cell.headroom->count();
    Document reason = nullptr;
    if (!cell.reason.empty()) reason = cell.reason;
    cells.push_back({{"at", std::move(at)},
                     {"verdict", ToString(cell.verdict)},
                     {"kv_cache", cell.kv ? KvDocument(*cell.kv) : Document(nullptr)},
                     {"headroom_bytes", std::move(headroom)},
                     {"reason", std::move(reason)}});
  }
  return {{"schema_version", 1}, {"axes", std::move(axes)}, {"cells", std::move(cells)}};
}

}  // namespace

SweepCell MakeSweepCell(const Plan& plan) {
  SweepCell cell;
  cell.verdict = plan.verdict;
  cell.engines = plan.sizes.dp;
  cell.unsure = plan.verdict == Verdict::kFits && plan.verdict_high != Verdict::kFits;
  if (plan.verdict != Verdict::kFits) {
    const auto error =
        std::find_if(plan.findings.begin(), plan.findings.end(),
                     [](const Finding& f) { return f.severity == Severity::kError; });
    if (error != plan.findings.end()) {
      cell.reason =
          error->subject.empty() ? error->message : error->subject + ": " + error->message;
    }
  }
  if (plan.verdict == Verdict::kIllegal) return cell;
  cell.kv = plan.kv;
  for (const RankPlan& rank : plan.ranks) {
    cell.headroom = std::min(cell.headroom.value_or(rank.headroom), rank.headroom);
  }
  return cell;
}

std::string SweepTitle(const Plan& plan, const std::vector<SweepAxis>& axes) {
  std::string swept;
  size_t cells = 1;
  bool layout_varies = plan.stages.empty();
  for (const SweepAxis& axis : axes) {
    swept += (swept.empty() ? "" : " × ") + Printable(axis.option);
    cells *= axis.values.size();
    // Everything with "parallel" in its name, its short forms, and where the ranks are.
    const bool is_layout = axis.option.find("parallel") != std::string::npos ||
                           axis.option.size() <= 3 || axis.option == "nodes" ||
                           axis.option == "gpus-per-node";
    layout_varies = layout_varies || is_layout;
  }
  return fmt::format("{} ({}) on {}@{} · {}{}: {} of {}", ShortSource(plan.source),
                     Printable(plan.family), Printable(plan.engine), Printable(plan.engine_version),
                     layout_varies ? "" : DescribeLayout(plan) + " · ", Printable(plan.gpu_name),
                     Plural(static_cast<int64_t>(cells), "cell", "cells"), swept);
}

std::string RenderSweepTable(const Sweep& sweep, const TableOptions& options) {
  if (sweep.axes.empty() || sweep.cells.empty()) return "";
  const auto width = static_cast<size_t>(std::max(options.width, 40));
  std::string out = Wrap(sweep.title, width, 0, 2) + "\n";
  out += sweep.axes.size() == 1 ? OneAxis(sweep, width) : TwoAxes(sweep, width);
  out += Legend(sweep, width) + "\n";
  if (const std::string reasons = Reasons(sweep, width); !reasons.empty()) out += reasons + "\n";
  return out + ClosingLine(sweep, width, options.color);
}

std::string RenderSweepJson(const Sweep& sweep) { return DumpJson(ToDocument(sweep)); }
std::string RenderSweepYaml(const Sweep& sweep) { return DumpYaml(ToDocument(sweep)); }

}  // namespace shardplan
