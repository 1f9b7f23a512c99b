// The file of dated rules: what holds of a key at a version.
#ifndef SHARDPLAN_ENGINE_RULE_BOOK_H_
#define SHARDPLAN_ENGINE_RULE_BOOK_H_

#include <yaml-cpp/yaml.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shardplan/base/config_store.h"
#include "shardplan/base/result.h"

namespace shardplan {

using EngineVersion = std::array<int64_t, 3>;

// "0.31.0", "0.31", "v0.31.1rc1.dev50": the leading numbers count.
std::optional<EngineVersion> ParseVersion(std::string_view text);

// configs/engines/vllm/rules.yaml, and a file of one's own that overrides it for one version:
// engines/vllm/<version>.yaml with `inherits: <version>` and `rules: {key: {value, source}}`. Other
// engines keep theirs in the same form.
class RuleBook {
 public:
  // Fails with kInvalidInput for a file that is no YAML mapping or has no releases.
  static Result<RuleBook> Load(const ConfigStore& store,
                               std::string_view name = "engines/vllm/rules.yaml");

  // Oldest first.
  const std::vector<std::string>& releases() const { return releases_; }

  // What the reader of one version finds.
  struct Entry {
    YAML::Node node;    // {value, source, evidence}
    std::string since;  // a version
  };
  // The last entry of rules.key that holds at `version`; nothing where there is none. Throws
  // YAML::Exception, and std::runtime_error for an entry that cannot be dated.
  std::optional<Entry> Rule(const std::string& key, const EngineVersion& version) const;
  // The version that brought a model's class; nothing for those that were always there.
  std::optional<Entry> FirstWith(const std::string& architecture) const;
  // memory.key; undefined where there is none.
  YAML::Node Memory(const std::string& key) const;

  const std::string& origin() const { return origin_; }

 private:
  // The first release whose branch was cut on or after a day "2026-08-20".
  std::string ReleaseAfter(const std::string& day) const;

  YAML::Node document_;
  std::string origin_;
  std::vector<std::string> releases_;
  std::vector<std::string> cuts_;  // days, beside releases_
};

}  // namespace shardplan

#endif  // SHARDPLAN_ENGINE_RULE_BOOK_H_
