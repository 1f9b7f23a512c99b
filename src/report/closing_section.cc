#include <fmt/format.h>

#include <algorithm>

#include "report/sections.h"
#include "report/text.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

// Long enough for every sentence of an engine that is quoted, short enough for a screen.
constexpr size_t kMessageLimit = 1000;

// A message that more text follows: without its full stop.
std::string Unstopped(std::string text) {
  while (text.ends_with('.')) text.pop_back();
  return text;
}

// The remedy of the first error that has one; empty where there is none.
std::string FirstFix(const Plan& plan) {
  for (const Finding& finding : plan.findings) {
    if (finding.severity == Severity::kError && !finding.fix.empty()) {
      return Printable(finding.fix, kMessageLimit);
    }
  }
  return "";
}

std::string FirstError(const Plan& plan) {
  for (const Finding& finding : plan.findings) {
    if (finding.severity != Severity::kError) continue;
    return fmt::format("{}: {}", Printable(finding.subject),
                       Unstopped(Printable(finding.message, kMessageLimit)));
  }
  return "no layout of this kind exists";
}

std::string Fits(const Plan& plan) {
  const auto fullest = std::min_element(
      plan.ranks.begin(), plan.ranks.end(),
      [](const RankPlan& a, const RankPlan& b) { return a.headroom < b.headroom; });
  std::string text = "fits";
  if (fullest != plan.ranks.end()) {
    text += fmt::format(": {} to spare on rank {}, the fullest", FormatGiB(fullest->headroom),
                        fullest->place.rank);
  }
  if (plan.kv) {
    text +=
        fmt::format("; {} of {} tokens at once ({}){}",
                    Plural(plan.kv->full_window_requests, "request", "requests"),
                    FormatCount(plan.window.max_model_len), FormatTimes(plan.kv->max_concurrency),
                    plan.sizes.dp > 1 ? fmt::format(" on each of {} engines", plan.sizes.dp) : "");
  }
  return text;
}

// Where nothing is short but a known issue is in the way: its finding comes first.
bool StopsAtIssue(const Plan& plan) {
  return !plan.limiting && !plan.findings.empty() &&
         plan.findings.front().severity == Severity::kError &&
         plan.findings.front().id.starts_with("issue.");
}

std::string DoesNotFit(const Plan& plan) {
  std::string text = StopsAtIssue(plan) ? "does not start as planned: " : "does not fit: ";
  if (plan.limiting) {
    text += fmt::format("{} on rank {} is short by {}", ToString(plan.limiting->account),
                        plan.limiting->rank, FormatGiB(plan.limiting->short_by));
  } else {
    text += FirstError(plan);
  }
  const std::string fix = FirstFix(plan);
  return fix.empty() ? text : text + "; " + fix;
}

// What the verdict would be at the ends of the ranges, where that is another one.
std::string AtTheEnds(const Plan& plan) {
  std::string text;
  const auto add = [&](std::string_view end, Verdict verdict) {
    if (verdict == plan.verdict) return;
    text += fmt::format("; at the {} end of the ranges it {}", end,
                        verdict == Verdict::kFits ? "fits" : "does not fit");
  };
  add("cheap", plan.verdict_low);
  add("dear", plan.verdict_high);
  return text;
}

}  // namespace

std::string FixLines(const std::string& fix, size_t limit, size_t width) {
  constexpr std::string_view kOr = "; or ";
  std::string out;
  for (size_t begin = 0; begin < fix.size();) {
    const size_t end = std::min(fix.find(kOr, begin), fix.size());
    const std::string way = Printable(fix.substr(begin, end - begin), limit);
    out += out.empty() ? Wrap("fix: " + way, width, 4, 9) : Wrap("or: " + way, width, 4, 8);
    begin = end + kOr.size();
  }
  return out;
}

std::string DefaultsSection(const Plan& plan, size_t width) {
  if (plan.defaults.empty()) return "";
  std::string text;
  for (const auto& [option, value] : plan.defaults) {
    if (!text.empty()) text += ", ";
    text += Printable(option) + "=" + Printable(value);
  }
  return fmt::format("Defaults taken by {}@{}\n", Printable(plan.engine),
                     Printable(plan.engine_version)) +
         Wrap(text, width, 2, 2);
}

std::string FindingsSection(const Plan& plan, size_t width) {
  return FindingsSection(plan.findings, width);
}

std::string FindingsSection(const std::vector<Finding>& findings, size_t width) {
  if (findings.empty()) return "";
  std::string out = "Findings\n";
  for (const Finding& finding : findings) {
    std::string text = fmt::format("{} {}: ", ToString(finding.severity), Printable(finding.id));
    if (!finding.subject.empty()) text += Printable(finding.subject) + ": ";
    out += Wrap(text + Printable(finding.message, kMessageLimit), width, 2, 4);
    out += FixLines(finding.fix, kMessageLimit, width);
  }
  return out;
}

std::string VerdictText(const Plan& plan) {
  switch (plan.verdict) {
    case Verdict::kFits:
      return Fits(plan) + AtTheEnds(plan);
    case Verdict::kDoesNotFit:
      return DoesNotFit(plan) + AtTheEnds(plan);
    case Verdict::kIllegal:
      break;
  }
  const std::string fix = FirstFix(plan);
  return "illegal layout: " + FirstError(plan) + (fix.empty() ? "" : "; " + fix);
}

std::string VerdictSection(const Plan& plan, size_t width, bool color) {
  std::string out = Wrap(VerdictText(plan), width, 0, 2);
  if (color) {
    // Around the words, not the newline, so that no colour leaks into the prompt.
    const char* const paint = plan.verdict == Verdict::kFits ? "\x1b[1;32m" : "\x1b[1;31m";
    out = paint + out.substr(0, out.size() - 1) + "\x1b[0m\n";
  }
  return out;
}

}  // namespace shardplan
