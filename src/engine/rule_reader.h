// Dated rules into the fields of one version's profile.
#ifndef SHARDPLAN_ENGINE_RULE_READER_H_
#define SHARDPLAN_ENGINE_RULE_READER_H_

#include <yaml-cpp/yaml.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/evidence.h"
#include "engine/rule_book.h"
#include "shardplan/base/finding.h"
#include "shardplan/base/result.h"

namespace shardplan {

// Files of one's own that override a book, nearest first, and the version that they describe.
struct OwnRules {
  std::vector<YAML::Node> documents;
  std::string version;
};

// Reads one rule after the other and keeps the first problem. Throws YAML::Exception for a value of
// the wrong type.
class RuleReader {
 public:
  // What holds in `book` at `version`; how each rule is known goes to `sources`.
  RuleReader(const RuleBook& book, const EngineVersion& version, OwnRules own,
             RuleSources* sources);

  template <typename T>
  void Rule(const char* key, T* out) {
    if (const std::optional<YAML::Node> value = Value(key)) *out = value->as<T>();
  }

  template <typename T>
  void Choice(const char* key, const std::map<std::string, T>& choices, T* out) {
    std::string name;
    Rule(key, &name);
    if (!problem_.empty()) return;
    const auto it = choices.find(name);
    if (it == choices.end()) return Problem(key, "unknown value '" + name + "'");
    *out = it->second;
  }

  void Problem(const char* key, const std::string& what);
  const std::string& problem() const { return problem_; }  // "key: what"; empty without one

 protected:
  // section.key of the nearest file of one's own; undefined where none has it.
  YAML::Node Own(const char* section, const std::string& key) const;
  const RuleBook& book() const { return book_; }

 private:
  // The rule's value, its source noted; nothing after a problem with it.
  std::optional<YAML::Node> Value(const char* key);
  std::optional<RuleBook::Entry> Dated(const char* key);

  const RuleBook& book_;
  EngineVersion version_;
  OwnRules own_;
  RuleSources& sources_;
  std::string problem_;
};

// The version of `known` (oldest first) whose rules `version` is planned by: the newest that is no
// newer, or the newest of all for an empty one. Where they differ, a finding says so. Fails with
// kUsage for what is no version and with kUnsupported for one before all of them.
Result<std::string> VersionWithRules(const std::string& engine, std::string_view version,
                                     const std::vector<std::string>& known,
                                     std::vector<Finding>* findings);

}  // namespace shardplan

#endif  // SHARDPLAN_ENGINE_RULE_READER_H_
