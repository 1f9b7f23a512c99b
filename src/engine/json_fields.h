// Objects that flags take, whole as JSON or field by field.
#ifndef SHARDPLAN_ENGINE_JSON_FIELDS_H_
#define SHARDPLAN_ENGINE_JSON_FIELDS_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shardplan/base/result.h"

namespace shardplan {

// A value inside an object that is no object itself.
struct JsonField {
  std::string path;                 // "pass_config.fuse_allreduce_rms"
  std::vector<std::string> values;  // a string as it is, "true", "12"; an array's elements
  std::string json;                 // the value as JSON
};

// The fields of an object, in the order of their names; nothing of an empty one. Fails with kUsage
// for text that is no JSON object, or one nested deeper than 32.
Result<std::vector<JsonField>> FieldsOf(std::string_view json);

// An object that grows by fields: `--flag.a.b value`, `--flag.list+ value`.
class JsonObject {
 public:
  JsonObject();
  ~JsonObject();
  JsonObject(JsonObject&&) noexcept;

  // `path` is "a.b", with a "+" behind it where the value, split at commas, is added to a list.
  // JSON is read as such, "80g" as a number, anything else as a string.
  // Source: vllm/utils/argparse_utils.py (00da11e3). Fails with kUsage for an empty name in the
  // path, for one deeper than 32, and for a value nested as deeply.
  Status Add(std::string_view path, const std::string& value);

  std::string Text() const;  // as JSON, in one line

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// A YAML file of flags (`--config`) as words of a command line: `key: value` is `--key value`, true
// is `--key`, false `--no-key`, a list its elements, a mapping JSON.
// Sources: vllm/utils/argparse_utils.py load_config_file (00da11e3), and
// python/sglang/srt/server_args_config_parser.py, of which switches are all that takes true. Fails
// with kUsage for text that is no mapping.
Result<std::vector<std::string>> WordsOfYaml(const std::string& text);

}  // namespace shardplan

#endif  // SHARDPLAN_ENGINE_JSON_FIELDS_H_
