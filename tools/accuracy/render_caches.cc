#include <fmt/format.h>

#include "shardplan/base/units.h"
#include "tools/accuracy/cache_rows.h"
#include "tools/accuracy/markdown.h"

namespace shardplan::accuracy {
namespace {

constexpr const char* kTokens = R"(
## Tokens of the cache

"GPU KV cache size" from the *printed* memory of the same log: grouping, pages, blocks and the rule of
the version's log line. That memory is printed to 0.01 GiB; *predicted* are the tokens of the least
and of the most memory that print so.

)";

constexpr const char* kBudget = R"(
## Memory left for the cache

"Available KV cache memory" from the flags alone, nothing measured: utilization × what CUDA sees −
weights − the activations' peak − what grows outside torch − the graph estimate where it is deducted.
The last two are not derivable and have wide ranges. *Error* is predicted − printed, in percent of the
printed memory, in GiB where that is below 4. Starts with a flag that the log does not tell
(`--max-num-batched-tokens`) are judged by their range alone: from the default to the 32,768 that the
publisher's other logs show. Constants of the memory outside torch and of the graph estimate were
fitted on these rows (`configs/engines/vllm/rules.yaml` says which): for them this is a fit, not a
test.

)";

constexpr const char* kVerdict = R"(
## Started or not

)";

std::string Percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string RenderTokens(const CacheRows& rows, const CacheSummary& s) {
  MarkdownTable table(
      {"log", "model", "engine", "layout", "memory GiB", "printed", "predicted", ""}, {4, 5, 6});
  for (const TokensRow& row : rows.tokens) {
    std::string memory;
    for (const double gib : row.log.kv_gib)
      memory += fmt::format("{}{}", memory.empty() ? "" : ", ", gib);
    table.Add(
        {SourceOf(row.log), row.log.model, EngineOf(row.log), LayoutOf(row.log, 0), memory,
         FormatCount(row.printed()),
         row.modelled() ? fmt::format("{} to {}", FormatCount(row.low), FormatCount(row.high)) : "",
         !row.modelled() ? "not modelled: " + row.not_modelled
         : row.holds()   ? "holds"
                         : "misses" + Because(row.log)});
  }
  return fmt::format("{}{} rows, {} of them inside the print rounding.\n\n{}", kTokens, s.tokens,
                     s.tokens_hold, table.Render());
}

std::string RenderBudgets(const CacheRows& rows, const CacheSummary& s) {
  MarkdownTable table({"log", "model", "engine", "card", "layout", "tokens / sequences",
                       "printed GiB", "predicted GiB", "range", "error", "bound by", "notes"},
                      {6, 7, 8, 9});
  for (const BudgetRow& row : rows.budgets) {
    const EngineSettings& f = row.log.deployment.settings;
    const auto number = [](const std::optional<int64_t>& n) {
      return n ? FormatCount(*n) : std::string("default");
    };
    std::vector<std::string> cells = {
        SourceOf(row.log),
        row.log.model,
        EngineOf(row.log),
        row.log.deployment.gpu,
        LayoutOf(row.log, row.stage),
        number(f.max_num_batched_tokens) + " / " + number(f.max_num_seqs),
        fmt::format("{}", row.printed_gib)};
    if (!row.modelled()) {
      cells.insert(cells.end(), {"", "", "", "", "not modelled: " + row.not_modelled});
    } else {
      const std::string error = row.printed_gib < 4 ? fmt::format("{:+.2f} GiB", row.error_gib())
                                                    : fmt::format("{:+.1f} %", 100 * row.error());
      std::string note = row.in_range() ? "" : "outside the range";
      if (row.judged_by_range()) note += (note.empty() ? "" : "; ") + std::string("flags unknown");
      cells.insert(cells.end(), {fmt::format("{:.2f}", InGiB(row.predicted.central).value()),
                                 fmt::format("{:.2f} to {:.2f}", InGiB(row.predicted.low).value(),
                                             InGiB(row.predicted.high).value()),
                                 error, row.binding, note + Because(row.log)});
    }
    table.Add(std::move(cells));
  }
  return fmt::format(
      "{}{} figures; {} judged by their centre: median error {} ({:.2f} GiB where there is "
      "little), "
      "{} within 4 % or 0.5 GiB. The range holds {} of {}; its median width is {} of the "
      "memory.\n\n{}",
      kBudget, s.budgets, s.judged, Percent(s.median_error), s.median_error_gib, s.close,
      s.in_range, s.budgets, Percent(s.median_width), table.Render());
}

std::string RenderVerdicts(const CacheRows& rows, const CacheSummary& s) {
  MarkdownTable table({"log", "model", "engine", "card", "layout", "it", "predicted", "reason"},
                      {});
  for (const VerdictRow& row : rows.verdicts) {
    std::string predicted = Predicted(row.verdict, row.low, row.high);
    std::string reason = row.holds() ? "" : "misses" + Because(row.log);
    if (!row.modelled()) {
      predicted = "";
      reason = "not modelled: " + row.not_modelled;
    }
    table.Add({SourceOf(row.log), row.log.model, EngineOf(row.log), row.log.deployment.gpu,
               LayoutOf(row.log, 0), Printed(row.log), predicted, reason});
  }
  return fmt::format("{}{} starts, {} told right.\n\n{}", kVerdict, s.verdicts, s.verdicts_hold,
                     table.Render());
}

}  // namespace

std::string RenderCaches(const CacheRows& rows) {
  const CacheSummary s = Summarize(rows);
  return RenderTokens(rows, s) + RenderBudgets(rows, s) + RenderVerdicts(rows, s);
}

}  // namespace shardplan::accuracy
