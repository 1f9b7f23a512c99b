#include <fmt/format.h>

#include <functional>

#include "shardplan/base/units.h"
#include "tools/accuracy/comparison.h"
#include "tools/accuracy/markdown.h"

namespace shardplan::accuracy {
namespace {

constexpr const char* kIntroduction =
    R"(# Predicted and printed

What shardplan predicts, beside what public start-up logs of real engines printed. Written by

    build/default/bin/accuracy > docs/accuracy.md

and a test fails where this file is not what the program prints.

## Weights

*Printed* is the figure of "Model loading took … GiB" (torch's allocated memory after loading, on one
rank of each pipeline stage). *Predicted* is the `weights` account of the same deployment, planned
from the model's config alone: parameters as the engine creates them, buffers, what post-load
processing adds, and up to v0.20 the rounding of torch's allocator ([accounting](accounting.md)).
The error is predicted ÷ printed − 1. A figure that is printed to two decimals is itself known to
±0.005 GiB.

No constant is fitted to a row. But some rules were first seen in logs like these: the allocator's
rounding, Triton's padding of gpt-oss on Hopper, Marlin's scales, the FP8 expert scales that are kept
twice, the activation orders that FlashInfer keeps and the workspace of two MLA backends. Rows that
these touch show that a rule holds in several start-ups, not that it was known before.

The logs, the flags and the models' numbers are in
[tests/data/cases](../tests/data/cases/README.md). *Reason* is given for every row further off than
0.5 %.

)";

// Why a row is far off, or has no prediction.
std::string Remark(const Comparison& row) {
  if (!row.modelled()) return "not modelled: " + row.not_modelled;
  if (row.log.reason.empty() || row.log.note.empty()) return row.log.reason + row.log.note;
  return row.log.reason + "; " + row.log.note;
}

// A column of the table: further figures of the same start-ups are further columns.
struct Column {
  const char* title;
  bool right = false;
  std::function<std::string(const Comparison&)> text;
};

const std::vector<Column>& Columns() {
  static const std::vector<Column> columns = {
      {"log", false, [](const Comparison& row) { return SourceOf(row.log); }},
      {"model", false, [](const Comparison& row) { return row.log.model; }},
      {"engine", false, [](const Comparison& row) { return EngineOf(row.log); }},
      {"card", false, [](const Comparison& row) { return row.log.deployment.gpu; }},
      {"layout", false, [](const Comparison& row) { return LayoutOf(row.log, row.stage); }},
      {"printed GiB", true,
       [](const Comparison& row) { return fmt::format("{}", row.observed_gib); }},
      {"predicted GiB", true,
       [](const Comparison& row) {
         return row.modelled() ? fmt::format("{:.3f}", InGiB(row.predicted).value()) : "";
       }},
      {"error", true,
       [](const Comparison& row) {
         return row.modelled() ? fmt::format("{:+.3f} %", 100 * row.error()) : "";
       }},
      {"reason, notes", false, Remark},
  };
  return columns;
}

}  // namespace

std::string Render(const std::vector<Comparison>& rows) {
  const Summary s = Summarize(rows);
  std::string out = kIntroduction;
  out += fmt::format(
      "{} figures, {} of them modelled: median error {:.3f} %, {} within 0.5 %, the largest "
      "{:.2f} %.\n\n",
      s.rows, s.modelled, 100 * s.median, s.within_half_percent, 100 * s.largest);
  std::string rule = "|";
  out += "|";
  for (const Column& column : Columns()) {
    out += fmt::format(" {} |", column.title);
    rule += column.right ? "---:|" : "---|";
  }
  out += "\n" + rule + "\n";
  for (const Comparison& row : rows) {
    out += "|";
    for (const Column& column : Columns()) out += fmt::format(" {} |", column.text(row));
    out += "\n";
  }
  return out;
}

}  // namespace shardplan::accuracy
