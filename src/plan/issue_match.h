// Which known issues a deployment runs into.
#ifndef SHARDPLAN_PLAN_ISSUE_MATCH_H_
#define SHARDPLAN_PLAN_ISSUE_MATCH_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "shardplan/plan/known_issues.h"
#include "shardplan/plan/plan.h"

namespace shardplan {

// What is known of a deployment, by the names of IssueTextFacts and IssueNumberFacts. A fact that
// was not set is not known.
class IssueFacts {
 public:
  void Set(std::string_view fact, std::string_view word) { words_[fact] = word; }
  void Set(std::string_view fact, const char* word) { words_[fact] = word; }
  void Set(std::string_view fact, double number) { numbers_[fact] = number; }

  const std::string* Word(std::string_view fact) const;
  const double* Number(std::string_view fact) const;

 private:
  // Names are literals.
  std::map<std::string_view, std::string> words_;
  std::map<std::string_view, double> numbers_;
};

// Whether an issue's conditions hold. Open: none fails, and at least one asks for a fact that is
// not known.
enum class IssueMatch { kNo, kOpen, kYes };
IssueMatch MatchIssue(const KnownIssue& issue, const IssueFacts& facts);

// The facts that keep a match open, in the issue's order.
std::vector<std::string> OpenFacts(const KnownIssue& issue, const IssueFacts& facts);

// Those of one engine's version that `facts` does not rule out: the ones to look at again when more
// is known. After the last version that it was seen in, only an error is still worth a word.
std::vector<KnownIssue> IssuesOf(std::vector<KnownIssue> issues, std::string_view engine,
                                 std::string_view version, const IssueFacts& facts);

// "issue.<id>", with the source and its date behind the message. In a version after the last one
// that it was seen in, an error becomes a warning that says so.
Finding FindingOf(const KnownIssue& issue, std::string_view version);

// Appends a finding of every issue that matches.
void TellIssues(const std::vector<KnownIssue>& issues, const IssueFacts& facts,
                std::string_view version, std::vector<Finding>* findings);

// Whether a finding is a known issue of severity error.
bool IsIssueError(const Finding& finding);

// Whether a finding is one that stopped engines up to an earlier version than the planned one: it
// may still.
bool IsIssueDoubt(const Finding& finding);

// Without the issues that `told` has: what is left is what a change may run into.
std::vector<KnownIssue> IssuesBeside(std::vector<KnownIssue> issues,
                                     const std::vector<Finding>& told);

// What memory says is not the whole verdict: with a known issue of severity error the engine does
// not start, or does not do what was planned, however much room there is. The figures stay; a plan
// that fits becomes one that does not, without anything that is short (`limiting`). Issues that
// `known` has as well change nothing: of two plans with the same issue, memory decides.
void ApplyIssues(Plan* plan, const std::vector<Finding>& known = {});

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_ISSUE_MATCH_H_
