// What is known to go wrong with a model, an engine's version and a card, as data.
#ifndef SHARDPLAN_PLAN_KNOWN_ISSUES_H_
#define SHARDPLAN_PLAN_KNOWN_ISSUES_H_

#include <string>
#include <vector>

#include "shardplan/base/config_store.h"
#include "shardplan/base/finding.h"
#include "shardplan/base/result.h"

namespace shardplan {

// One fact of a deployment and what it has to be. Either words or a range.
struct IssueCondition {
  std::string fact;                // "kv_cache_dtype", "tp"
  std::vector<std::string> words;  // any of them; "fp8*" stands for all that begin so
  double least = 0;                // of a number, both included
  double most = 0;

  bool is_text() const { return !words.empty(); }
};

// An entry of configs/known_issues.yaml. It matches where the engine and version are right and
// every condition holds.
struct KnownIssue {
  std::string id;  // "kimi-k3-fp8-kv-hopper"; of its finding "issue.kimi-k3-fp8-kv-hopper"
  Severity severity = Severity::kWarning;
  std::string subject;  // what to look at: "--kv-cache-dtype"
  std::string message;
  std::string fix;
  std::string source;  // a public report or a document
  std::string date;    // of the report: "2026-08-06"

  std::string engine;  // "vllm" or "sglang"
  std::string since;   // first version that has it; empty: all before
  std::string fixed;   // first version that does not have it any more; empty: none is known
  std::string seen;    // last version that it was seen in; empty: it is open, whatever the version
  std::vector<IssueCondition> when;
};

// Names of the facts that a condition may ask for: words, and numbers (true is 1, false 0).
const std::vector<std::string>& IssueTextFacts();
const std::vector<std::string>& IssueNumberFacts();

// In the order of the file. Fails with kInvalidInput and "file:line: …" for unknown or missing
// keys, facts that there are none of, and ids that are there twice.
Result<std::vector<KnownIssue>> LoadKnownIssues(const ConfigStore& store);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_KNOWN_ISSUES_H_
