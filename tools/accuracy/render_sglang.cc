#include <fmt/format.h>

#include "shardplan/base/units.h"
#include "tools/accuracy/markdown.h"
#include "tools/accuracy/sglang_rows.h"

namespace shardplan::accuracy {
namespace {

constexpr const char* kIntroduction = R"(
## SGLang

SGLang measures no forward pass: its pools get a fraction of the memory that is free before the
weights, less the weights, and what runs outside has to find room in the rest. So other figures are
printed, and they are compared here. Its weights ("Load weight end … mem usage", a drop of free
memory) are in the table of weights above; 2 % are promised. Where a log does not tell the fraction,
only what does not hang on it is compared.

### Tokens of the printed pool

Arithmetic: the *printed* size of the pool ("KV Cache is allocated", K and V together) ÷ the bytes of
one token, in whole pages. 0.2 % are promised. A size is printed to 0.01 GiB, K and V each; the
*range* has the tokens of the least and of the most memory that print so.

)";

constexpr const char* kFlags = R"(
### Tokens from the flags alone

A prediction, nothing measured: fraction × memory that is free before the weights − weights. What the
driver, the context and the communicators have taken by then is not derivable and makes the *range*;
nothing is promised. The constants of that memory and of the graphs are of other logs
(`configs/engines/sglang/rules.yaml` says which): the starts of Qwen3-32B above and of DeepSeek-V4
below.

)";

constexpr const char* kStarts = R"(
### Started or not, from the flags alone

A prediction: *fits* are pools that hold a request of the full window, and room outside the fraction
for graphs and activations. SGLang itself starts with a smaller pool too. *Ends* are the verdicts with
every uncertain figure at its cheap and at its dear end.

)";

constexpr const char* kUnexplained = R"(
### Shown, not judged

Printed figures that the plan does not reproduce, with what is known of the reason. They count
nowhere above.

)";

std::string Percent(double share, int decimals) {
  return fmt::format("{:+.{}f} %", 100 * share, decimals);
}

std::string Span(const SglangTokens& row) {
  return fmt::format("{} to {}", FormatCount(row.low), FormatCount(row.high));
}

std::string Remark(const SglangTokens& row, std::string miss) {
  if (!row.modelled()) return "not modelled: " + row.not_modelled;
  if (!miss.empty()) return miss + Because(row.log);
  return row.log.note;
}

std::string RenderPools(const SglangRows& rows, const SglangSummary& s) {
  MarkdownTable table({"log", "model", "engine", "layout", "pool GiB", "printed", "predicted",
                       "range", "error", "notes"},
                      {4, 5, 6, 7, 8});
  for (const SglangTokens& row : rows.from_pool) {
    const bool told = row.modelled();
    table.Add({SourceOf(row.log), row.log.model, EngineOf(row.log), LayoutOf(row.log, 0),
               fmt::format("{:.2f}", row.pool_gib()), FormatCount(row.printed()),
               told ? FormatCount(row.central) : "", told ? Span(row) : "",
               told ? Percent(row.error(), 3) : "", Remark(row, row.close() ? "" : "misses")});
  }
  return fmt::format(
      "{} rows, {} within 0.2 %, {} inside the print rounding; the largest error is {:.3f} %.\n\n"
      "{}",
      s.from_pool, s.from_pool_close, s.from_pool_in_range, 100 * s.largest_from_pool,
      table.Render());
}

std::string RenderFlags(const SglangRows& rows, const SglangSummary& s) {
  MarkdownTable table({"log", "model", "engine", "card", "layout", "fraction", "printed",
                       "predicted", "range", "error", "notes"},
                      {5, 6, 7, 8, 9});
  for (const SglangTokens& row : rows.from_flags) {
    const bool told = row.modelled();
    table.Add({SourceOf(row.log), row.log.model, EngineOf(row.log), row.log.deployment.gpu,
               LayoutOf(row.log, 0),
               fmt::format("{}", row.log.deployment.sglang.mem_fraction_static.value_or(0)),
               FormatCount(row.printed()), told ? FormatCount(row.central) : "",
               told ? Span(row) : "", told ? Percent(row.error(), 1) : "",
               Remark(row, row.in_range() ? "" : "outside the range")});
  }
  return fmt::format("{}{} rows, {} inside the range; the largest error is {:.1f} %.\n\n{}", kFlags,
                     s.from_flags, s.from_flags_in_range, 100 * s.largest_from_flags,
                     table.Render());
}

// What the plan says, and why where it refuses: its reason may be another than the engine's.
std::string PredictedStart(const VerdictRow& row) {
  if (!row.modelled()) return "";
  const std::string verdict = Predicted(row.verdict, row.low, row.high);
  return row.why.empty() ? verdict : verdict + ": " + row.why;
}

std::string RenderStarts(const SglangRows& rows, const SglangSummary& s) {
  MarkdownTable table({"log", "model", "engine", "card", "layout", "it", "predicted", "reason"},
                      {});
  for (const VerdictRow& row : rows.starts) {
    std::string reason = row.holds() ? "" : "misses" + Because(row.log);
    if (!row.modelled()) reason = "not modelled: " + row.not_modelled;
    table.Add({SourceOf(row.log), row.log.model, EngineOf(row.log), row.log.deployment.gpu,
               LayoutOf(row.log, 0), Printed(row.log), PredictedStart(row), std::move(reason)});
  }
  return fmt::format("{}{} starts, {} told right.\n\n{}", kStarts, s.starts, s.starts_hold,
                     table.Render());
}

std::string RenderUnexplained(const SglangRows& rows) {
  if (rows.unexplained.empty()) return "";
  MarkdownTable table({"log", "model", "engine", "card", "layout", "printed weights GiB",
                       "predicted GiB", "error", "it", "predicted", "reason"},
                      {5, 6, 7});
  for (const UnexplainedStart& row : rows.unexplained) {
    const Case& log = row.start.log;
    const bool told = row.start.modelled();
    table.Add({SourceOf(log), log.model, EngineOf(log), log.deployment.gpu, LayoutOf(log, 0),
               fmt::format("{}", row.printed_gib),
               told ? fmt::format("{:.3f}", InGiB(row.predicted).value()) : "",
               told ? Percent(row.error(), 1) : "", Printed(log), PredictedStart(row.start),
               told ? log.reason + (log.note.empty() ? "" : "; " + log.note)
                    : "not modelled: " + row.start.not_modelled});
  }
  return kUnexplained + table.Render();
}

}  // namespace

std::string RenderSglang(const SglangRows& rows) {
  const SglangSummary s = Summarize(rows);
  return kIntroduction + RenderPools(rows, s) + RenderFlags(rows, s) + RenderStarts(rows, s) +
         RenderUnexplained(rows);
}

}  // namespace shardplan::accuracy
