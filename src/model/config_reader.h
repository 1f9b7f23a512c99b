// config.json, read field by field with bounds. The only place where a config's JSON is touched.
#ifndef SHARDPLAN_MODEL_CONFIG_READER_H_
#define SHARDPLAN_MODEL_CONFIG_READER_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shardplan/base/result.h"

namespace shardplan {

// Parses `text` as a JSON object. Depth is bounded at 64 levels before parsing, so that a hostile
// file cannot exhaust the stack.
Result<nlohmann::json> ParseConfigObject(std::string_view text, const std::string& subject);

// Typed access to one JSON object. The first problem is kept and later reads return their lower
// bound, so that a family reads all its fields and asks once: `if (!reader.ok()) return …`.
//
// Bounds are generous (a dimension below 2^24, a hundred thousand experts) and exist so that no
// product of a few fields can leave 64 bits.
class ConfigReader {
 public:
  // `path` is the object's place in the file, for messages: "" or "text_config.".
  ConfigReader(const nlohmann::json& object, std::string subject, std::string path = "");

  bool ok() const { return !error_.has_value(); }
  Error error() const { return *error_; }

  bool Has(std::string_view key) const;  // present and not null

  int64_t Int(std::string_view key, int64_t low, int64_t high);
  int64_t IntOr(std::string_view key, int64_t low, int64_t high, int64_t absent);
  // A dimension: 1 to 2^24.
  int64_t Dim(std::string_view key) { return Int(key, 1, int64_t{1} << 24); }
  int64_t DimOr(std::string_view key, int64_t absent) {
    return IntOr(key, 1, int64_t{1} << 24, absent);
  }
  double NumberOr(std::string_view key, double low, double high, double absent);
  bool BoolOr(std::string_view key, bool absent);
  std::string StringOr(std::string_view key, std::string absent);
  std::vector<int64_t> IntList(std::string_view key, int64_t low, int64_t high);
  std::vector<std::string> StringListOr(std::string_view key, std::vector<std::string> absent);

  // A nested object; an empty one (and an error) when it is missing or no object.
  ConfigReader Object(std::string_view key);
  // The same, empty without an error when it is missing or null.
  ConfigReader ObjectOr(std::string_view key);

  // Takes over the first error of a reader made by Object.
  void Adopt(const ConfigReader& child);

  // Records a contradiction between fields.
  void Contradiction(std::string_view key, std::string message);

  const nlohmann::json& json() const { return *object_; }
  const std::string& subject() const { return subject_; }

 private:
  const nlohmann::json* Find(std::string_view key) const;
  void Expected(std::string_view key, std::string_view what, const nlohmann::json* found);

  const nlohmann::json* object_;
  std::string subject_;
  std::string path_;
  std::optional<Error> error_;
};

}  // namespace shardplan

#endif  // SHARDPLAN_MODEL_CONFIG_READER_H_
