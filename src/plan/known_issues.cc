#include "shardplan/plan/known_issues.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "engine/rule_book.h"
#include "hardware/yaml_mapping.h"
#include "shardplan/base/file.h"
#include "shardplan/base/suggest.h"

namespace shardplan {
namespace {

using internal::Mapping;
using internal::Place;

constexpr const char* kFile = "known_issues.yaml";
constexpr double kMostOfNumber = 1e12;

bool IsOneOf(const std::string& name, const std::vector<std::string>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// One number, or {min, max} with one of the two or both.
Status ReadRange(const Mapping& when, const std::string& fact, const YAML::Node& node,
                 IssueCondition* out) {
  if (node.IsMap()) {
    SHARDPLAN_ASSIGN_OR_RETURN(const Mapping range,
                               Mapping::Read(when.place(), node, when.Name(fact), {"min", "max"}));
    out->least = 0;
    out->most = std::numeric_limits<double>::infinity();
    if (!range.Has("min") && !range.Has("max")) return when.Expected(fact, node, "min or max");
    if (range.Has("min")) {
      SHARDPLAN_ASSIGN_OR_RETURN(out->least, range.Count<double>("min", kMostOfNumber));
    }
    if (range.Has("max")) {
      SHARDPLAN_ASSIGN_OR_RETURN(out->most, range.Count<double>("max", kMostOfNumber));
    }
    return {};
  }
  const std::string text = node.IsScalar() ? node.Scalar() : "";
  if (text == "true" || text == "false") {
    out->least = out->most = text == "true" ? 1 : 0;
    return {};
  }
  SHARDPLAN_ASSIGN_OR_RETURN(out->least, when.Count<double>(fact, node, kMostOfNumber));
  out->most = out->least;
  return {};
}

Status ReadWords(const Mapping& when, const std::string& fact, const YAML::Node& node,
                 IssueCondition* out) {
  const auto take = [&](const YAML::Node& word) -> Status {
    if (!word.IsScalar() || word.Scalar().empty()) return when.Expected(fact, word, "a word");
    out->words.push_back(word.Scalar());
    return {};
  };
  if (!node.IsSequence()) return take(node);
  for (const YAML::Node& word : node) SHARDPLAN_RETURN_IF_ERROR(take(word));
  if (out->words.empty()) return when.Expected(fact, node, "at least one word");
  return {};
}

Result<std::string> ReadVersion(const Mapping& when, const char* key) {
  if (!when.Has(key)) return std::string();
  SHARDPLAN_ASSIGN_OR_RETURN(const std::string text, when.Text(key));
  if (!ParseVersion(text)) {
    SHARDPLAN_ASSIGN_OR_RETURN(const YAML::Node node, when.Get(key));
    return when.Expected(key, node, "a version such as 0.31.0");
  }
  return text;
}

Status ReadWhen(const Mapping& entry, KnownIssue* issue) {
  std::vector<std::string> keys = {"engine", "since", "fixed", "seen"};
  for (const auto* facts : {&IssueTextFacts(), &IssueNumberFacts()}) {
    keys.insert(keys.end(), facts->begin(), facts->end());
  }
  SHARDPLAN_ASSIGN_OR_RETURN(const YAML::Node node, entry.Get("when"));
  SHARDPLAN_ASSIGN_OR_RETURN(const Mapping when, Mapping::Read(entry.place(), node, "when", keys));
  SHARDPLAN_ASSIGN_OR_RETURN(issue->engine, when.Text("engine"));
  if (issue->engine != "vllm" && issue->engine != "sglang") {
    SHARDPLAN_ASSIGN_OR_RETURN(const YAML::Node name, when.Get("engine"));
    return when.Expected("engine", name, "vllm or sglang");
  }
  SHARDPLAN_ASSIGN_OR_RETURN(issue->since, ReadVersion(when, "since"));
  SHARDPLAN_ASSIGN_OR_RETURN(issue->fixed, ReadVersion(when, "fixed"));
  SHARDPLAN_ASSIGN_OR_RETURN(issue->seen, ReadVersion(when, "seen"));
  for (const std::string& fact : keys) {
    const bool text = IsOneOf(fact, IssueTextFacts());
    if (!when.Has(fact) || (!text && !IsOneOf(fact, IssueNumberFacts()))) continue;
    SHARDPLAN_ASSIGN_OR_RETURN(const YAML::Node value, when.Get(fact));
    IssueCondition condition;
    condition.fact = fact;
    SHARDPLAN_RETURN_IF_ERROR(text ? ReadWords(when, fact, value, &condition)
                                   : ReadRange(when, fact, value, &condition));
    issue->when.push_back(std::move(condition));
  }
  return {};
}

Result<Severity> ReadSeverity(const Mapping& entry) {
  SHARDPLAN_ASSIGN_OR_RETURN(const std::string name, entry.Text("severity"));
  for (const Severity severity : {Severity::kError, Severity::kWarning, Severity::kNote}) {
    if (ToString(severity) == name) return severity;
  }
  SHARDPLAN_ASSIGN_OR_RETURN(const YAML::Node node, entry.Get("severity"));
  return entry.Expected("severity", node, "error, warning or note");
}

// "2026-11-29" or "2026-11".
bool IsDate(const std::string& text) {
  bool good = text.size() == 7 || text.size() == 10;
  for (size_t i = 0; good && i < text.size(); ++i) {
    good = i == 4 || i == 7 ? text[i] == '-' : text[i] >= '0' && text[i] <= '9';
  }
  return good;
}

Result<KnownIssue> ReadIssue(const Place& place, const YAML::Node& node) {
  static const std::vector<std::string> kKeys = {"id",  "severity", "subject", "message",
                                                 "fix", "source",   "date",    "when"};
  SHARDPLAN_ASSIGN_OR_RETURN(const Mapping entry, Mapping::Read(place, node, "", kKeys));
  KnownIssue issue;
  SHARDPLAN_ASSIGN_OR_RETURN(const YAML::Node id, entry.Get("id"));
  SHARDPLAN_ASSIGN_OR_RETURN(issue.id, entry.Word("id", id));
  SHARDPLAN_ASSIGN_OR_RETURN(issue.severity, ReadSeverity(entry));
  SHARDPLAN_ASSIGN_OR_RETURN(issue.subject, entry.Text("subject"));
  SHARDPLAN_ASSIGN_OR_RETURN(issue.message, entry.Text("message"));
  SHARDPLAN_ASSIGN_OR_RETURN(issue.fix, entry.Text("fix"));
  SHARDPLAN_ASSIGN_OR_RETURN(issue.source, entry.Text("source"));
  SHARDPLAN_ASSIGN_OR_RETURN(issue.date, entry.Text("date"));
  if (!IsDate(issue.date)) {
    SHARDPLAN_ASSIGN_OR_RETURN(const YAML::Node date, entry.Get("date"));
    return entry.Expected("date", date, "a day or month such as 2026-11-29 or 2026-11");
  }
  SHARDPLAN_RETURN_IF_ERROR(ReadWhen(entry, &issue));
  return issue;
}

Result<std::vector<KnownIssue>> ReadIssues(const Place& place, const YAML::Node& document) {
  SHARDPLAN_ASSIGN_OR_RETURN(const Mapping root, Mapping::Read(place, document, "", {"issues"}));
  SHARDPLAN_ASSIGN_OR_RETURN(const YAML::Node list, root.Get("issues"));
  if (!list.IsSequence()) return root.Expected("issues", list, "a list");
  std::vector<KnownIssue> issues;
  std::set<std::string> ids;
  for (const YAML::Node& node : list) {
    SHARDPLAN_ASSIGN_OR_RETURN(KnownIssue issue, ReadIssue(place, node));
    if (!ids.insert(issue.id).second) return place.Fail(node.Mark(), "second issue " + issue.id);
    issues.push_back(std::move(issue));
  }
  return issues;
}

}  // namespace

const std::vector<std::string>& IssueTextFacts() {
  static const std::vector<std::string> names = {
      "architecture",     "family",      "quantization",      "vendor",        "gpu",
      "kv_cache_dtype",   "moe_backend", "attention_backend", "load_format",   "all2all_backend",
      "mamba_cache_mode", "speculation", "offload",           "offload_params"};
  return names;
}

const std::vector<std::string>& IssueNumberFacts() {
  static const std::vector<std::string> names = {"capability",
                                                 "nvlink",
                                                 "tp",
                                                 "pp",
                                                 "dp",
                                                 "dcp",
                                                 "expert_ranks",
                                                 "nodes",
                                                 "expert_parallel",
                                                 "latent",
                                                 "sparse",
                                                 "delta",
                                                 "gated_delta",
                                                 "mamba",
                                                 "states",
                                                 "experts",
                                                 "vision",
                                                 "v2_runner",
                                                 "graphs",
                                                 "async_scheduling",
                                                 "prefix_caching",
                                                 "host_cache",
                                                 "kv_offloading",
                                                 "lora",
                                                 "utilization",
                                                 "max_num_seqs",
                                                 "max_num_batched_tokens",
                                                 "driver",
                                                 "cuda"};
  return names;
}

Result<std::vector<KnownIssue>> LoadKnownIssues(const ConfigStore& store) {
  SHARDPLAN_ASSIGN_OR_RETURN(const std::string_view text, store.Get(kFile));
  const std::string origin = store.Origin(kFile);
  return internal::ReadDocument<std::vector<KnownIssue>>(
      text, origin == "built in" ? kFile : origin, ReadIssues);
}

}  // namespace shardplan
