// Compose files and manifests as YAML that a person reviews and that every parser reads alike.
#ifndef SHARDPLAN_LAUNCH_YAML_WRITER_H_
#define SHARDPLAN_LAUNCH_YAML_WRITER_H_

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "shardplan/base/result.h"

namespace shardplan {

// Maps, lists and scalars; keys keep the order in which they were set.
using YamlValue = nlohmann::ordered_json;

struct YamlDocument {
  YamlValue value;
  std::string comment;  // above the document; lines as they come, without '#'
  // Above an entry, by its JSON pointer: "/services/vllm/shm_size", "/spec/containers/0"; '~' and
  // '/' in a key are "~0" and "~1".
  std::map<std::string, std::string> comments;
};

// Block style, two spaces a level, a newline at the end. Strings stay bare only where YAML 1.1 and
// 1.2 both read them as that text; texts of several printable lines become a literal block ("|"),
// everything else is double-quoted, with escapes for what a terminal must not see. Comments lose
// what could end them.
//
// Fails with kInvalidInput for a string that is not UTF-8 (YAML has no way to write it), a key that
// is longer than YAML's 1,024 characters or a number that is not finite, and with kInternal for a
// comment that belongs to no entry.
Result<std::string> WriteYaml(const YamlDocument& document);

// Several documents in one file, "---" between them.
Result<std::string> WriteYaml(const std::vector<YamlDocument>& documents);

// One string as a scalar on one line: bare or double-quoted. Fails as WriteYaml does.
Result<std::string> YamlQuote(std::string_view text);

}  // namespace shardplan

#endif  // SHARDPLAN_LAUNCH_YAML_WRITER_H_
