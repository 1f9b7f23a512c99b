#include "engine/rule_reader.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "shardplan/base/file.h"

namespace shardplan {

RuleReader::RuleReader(const RuleBook& book, const EngineVersion& version, OwnRules own,
                       RuleSources* sources)
    : book_(book), version_(version), own_(std::move(own)), sources_(*sources) {}

void RuleReader::Problem(const char* key, const std::string& what) {
  if (problem_.empty()) problem_ = std::string(key) + ": " + what;
}

YAML::Node RuleReader::Own(const char* section, const std::string& key) const {
  for (const YAML::Node& document : own_.documents) {
    const YAML::Node found = document[section];
    if (found && found.IsMap() && found[key]) return found[key];
  }
  return YAML::Node(YAML::NodeType::Undefined);
}

std::optional<RuleBook::Entry> RuleReader::Dated(const char* key) {
  try {
    std::optional<RuleBook::Entry> entry = book_.Rule(key, version_);
    if (!entry) Problem(key, "expected an entry that holds at this version");
    return entry;
  } catch (const std::runtime_error& error) {
    if (dynamic_cast<const YAML::Exception*>(&error) != nullptr) throw;
    Problem(key, error.what());
    return std::nullopt;
  }
}

std::optional<YAML::Node> RuleReader::Value(const char* key) {
  YAML::Node node = Own("rules", key);
  RuleSource source;
  source.since = own_.version;
  if (!node) {
    const std::optional<RuleBook::Entry> entry = Dated(key);
    if (!entry) return std::nullopt;
    node.reset(entry->node);
    source.since = entry->since;
  }
  if (!node.IsMap() || !node["value"] || !node["source"]) {
    Problem(key, "expected {value, source}");
    return std::nullopt;
  }
  const std::string evidence = node["evidence"].as<std::string>("source");
  if (evidence != "source" && evidence != "log" && evidence != "assumed") {
    Problem(key, "unknown evidence '" + evidence + "'");
    return std::nullopt;
  }
  source.text = node["source"].as<std::string>();
  source.evidence = evidence == "source" ? Evidence::kSource
                    : evidence == "log"  ? Evidence::kLog
                                         : Evidence::kAssumed;
  sources_[key] = std::move(source);
  return node["value"];
}

Result<std::string> VersionWithRules(const std::string& engine, std::string_view version,
                                     const std::vector<std::string>& known,
                                     std::vector<Finding>* findings) {
  if (version.empty()) return known.back();
  const std::string subject = fmt::format("{}@{}", engine, Printable(version));
  const std::optional<EngineVersion> wanted = ParseVersion(version);
  if (!wanted) {
    return Fail(ErrorCode::kUsage, subject, "expected a version such as " + known.back());
  }
  const std::string* best = nullptr;
  for (const std::string& candidate : known) {
    if (*ParseVersion(candidate) <= *wanted) best = &candidate;
  }
  if (!best) {
    return Fail(ErrorCode::kUnsupported, subject,
                fmt::format("rules reach from {} to {}", known.front(), known.back()));
  }
  if (*ParseVersion(*best) != *wanted) {
    const bool newer = best == &known.back();
    findings->push_back(
        {"engine.version", newer ? Severity::kWarning : Severity::kNote, subject,
         newer ? fmt::format("newer than every release with rules; those of {} are used", *best)
               : fmt::format("planned by the rules of {}", *best),
         ""});
  }
  return *best;
}

}  // namespace shardplan
