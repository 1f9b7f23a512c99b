#include "plan/issue_match.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/flag_table.h"

namespace shardplan {
namespace {

constexpr std::string_view kMayBeMended = ", which a later version may have mended";

bool MatchesWord(const std::string& word, const std::string& pattern) {
  if (!pattern.ends_with('*')) return word == pattern;
  return word.starts_with(std::string_view(pattern).substr(0, pattern.size() - 1));
}

IssueMatch MatchCondition(const IssueCondition& condition, const IssueFacts& facts) {
  bool holds = false;
  if (condition.is_text()) {
    const std::string* const word = facts.Word(condition.fact);
    if (word == nullptr) return IssueMatch::kOpen;
    holds = std::any_of(condition.words.begin(), condition.words.end(),
                        [&](const std::string& pattern) { return MatchesWord(*word, pattern); });
  } else {
    const double* const number = facts.Number(condition.fact);
    if (number == nullptr) return IssueMatch::kOpen;
    holds = *number >= condition.least && *number <= condition.most;
  }
  return holds ? IssueMatch::kYes : IssueMatch::kNo;
}

bool HasId(const std::vector<Finding>& findings, const std::string& id) {
  return std::any_of(findings.begin(), findings.end(),
                     [&](const Finding& finding) { return finding.id == id; });
}

// After the last version that it was seen in.
bool IsLater(const KnownIssue& issue, std::string_view version) {
  return !issue.seen.empty() && IsOlder(issue.seen, version);
}

}  // namespace

const std::string* IssueFacts::Word(std::string_view fact) const {
  const auto found = words_.find(fact);
  return found == words_.end() ? nullptr : &found->second;
}

const double* IssueFacts::Number(std::string_view fact) const {
  const auto found = numbers_.find(fact);
  return found == numbers_.end() ? nullptr : &found->second;
}

IssueMatch MatchIssue(const KnownIssue& issue, const IssueFacts& facts) {
  IssueMatch match = IssueMatch::kYes;
  for (const IssueCondition& condition : issue.when) {
    match = std::min(match, MatchCondition(condition, facts));
    if (match == IssueMatch::kNo) break;
  }
  return match;
}

std::vector<std::string> OpenFacts(const KnownIssue& issue, const IssueFacts& facts) {
  std::vector<std::string> open;
  for (const IssueCondition& condition : issue.when) {
    if (MatchCondition(condition, facts) == IssueMatch::kOpen) open.push_back(condition.fact);
  }
  return open;
}

std::vector<KnownIssue> IssuesOf(std::vector<KnownIssue> issues, std::string_view engine,
                                 std::string_view version, const IssueFacts& facts) {
  std::erase_if(issues, [&](const KnownIssue& issue) {
    if (issue.engine != engine) return true;
    if (!issue.since.empty() && IsOlder(version, issue.since)) return true;
    if (!issue.fixed.empty() && !IsOlder(version, issue.fixed)) return true;
    if (IsLater(issue, version) && issue.severity != Severity::kError) return true;
    return MatchIssue(issue, facts) == IssueMatch::kNo;
  });
  return issues;
}

Finding FindingOf(const KnownIssue& issue, std::string_view version) {
  const bool later = IsLater(issue, version);
  std::string message = issue.message;
  if (later) {
    message += fmt::format("; last seen in {}{}", issue.seen, kMayBeMended);
  }
  message += fmt::format(" ({}, {})", issue.source, issue.date);
  const Severity severity =
      later && issue.severity == Severity::kError ? Severity::kWarning : issue.severity;
  return {"issue." + issue.id, severity, issue.subject, std::move(message), issue.fix};
}

void TellIssues(const std::vector<KnownIssue>& issues, const IssueFacts& facts,
                std::string_view version, std::vector<Finding>* findings) {
  for (const KnownIssue& issue : issues) {
    if (MatchIssue(issue, facts) != IssueMatch::kYes) continue;
    findings->push_back(FindingOf(issue, version));
  }
}

bool IsIssueError(const Finding& finding) {
  return finding.severity == Severity::kError && finding.id.starts_with("issue.");
}

bool IsIssueDoubt(const Finding& finding) {
  // Of what was seen earlier, errors alone are still told (IssuesOf).
  return finding.severity == Severity::kWarning && finding.id.starts_with("issue.") &&
         finding.message.find(kMayBeMended) != std::string::npos;
}

std::vector<KnownIssue> IssuesBeside(std::vector<KnownIssue> issues,
                                     const std::vector<Finding>& told) {
  std::erase_if(issues, [&](const KnownIssue& issue) { return HasId(told, "issue." + issue.id); });
  return issues;
}

void ApplyIssues(Plan* plan, const std::vector<Finding>& known) {
  if (plan->verdict == Verdict::kIllegal) return;
  const bool stops = std::any_of(
      plan->findings.begin(), plan->findings.end(),
      [&](const Finding& finding) { return IsIssueError(finding) && !HasId(known, finding.id); });
  if (stops) plan->verdict = plan->verdict_low = plan->verdict_high = Verdict::kDoesNotFit;
}

}  // namespace shardplan
