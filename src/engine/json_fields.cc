#include "engine/json_fields.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

using Json = nlohmann::json;

constexpr int kDeepest = 32;  // objects and lists inside each other; libraries recurse

// The nesting of brackets outside strings.
int DepthOf(std::string_view json) {
  int depth = 0;
  int deepest = 0;
  bool in_string = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '\\') {
      ++i;
    } else if (c == '"') {
      in_string = !in_string;
    } else if (!in_string && (c == '{' || c == '[')) {
      deepest = std::max(deepest, ++depth);
    } else if (!in_string && (c == '}' || c == ']')) {
      --depth;
    }
  }
  return deepest;
}

std::optional<Json> Parse(std::string_view text) {
  if (DepthOf(text) > kDeepest) return std::nullopt;
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return std::nullopt;
  return json;
}

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string TextOf(const Json& value) {
  return value.is_string() ? value.get<std::string>() : Dump(value);
}

void Collect(const Json& object, const std::string& prefix, std::vector<JsonField>* out) {
  for (const auto& [key, value] : object.items()) {
    const std::string path = prefix.empty() ? key : prefix + "." + key;
    if (value.is_object() && !value.empty()) {
      Collect(value, path, out);
      continue;
    }
    JsonField field{path, {}, Dump(value)};
    if (value.is_array()) {
      for (const Json& element : value) field.values.push_back(TextOf(element));
    } else {
      field.values.push_back(TextOf(value));
    }
    out->push_back(std::move(field));
  }
}

Result<Json> FromYaml(const YAML::Node& node, int depth) {
  if (depth > kDeepest) {
    return Fail(ErrorCode::kUsage, "", fmt::format("nested deeper than {}", kDeepest));
  }
  if (node.IsMap()) {
    Json object = Json::object();
    for (const auto& entry : node) {
      SHARDPLAN_ASSIGN_OR_RETURN(Json value, FromYaml(entry.second, depth + 1));
      object[entry.first.as<std::string>()] = std::move(value);
    }
    return object;
  }
  if (node.IsSequence()) {
    Json list = Json::array();
    for (const auto& element : node) {
      SHARDPLAN_ASSIGN_OR_RETURN(Json value, FromYaml(element, depth + 1));
      list.push_back(std::move(value));
    }
    return list;
  }
  if (!node.IsScalar()) return Json();
  const bool quoted = node.Tag() == "!";
  bool truth = false;
  // PyYAML, which the engine uses, takes neither "y" nor "n" for one.
  const bool letter = node.Scalar().size() == 1;
  if (!quoted && !letter && YAML::convert<bool>::decode(node, truth)) return Json(truth);
  if (!quoted) {
    const Json number = Json::parse(node.Scalar(), nullptr, false);
    if (number.is_number()) return number;
  }
  return Json(node.Scalar());
}

// Appends what one key of the file means.
Status AddKey(const std::string& key, const YAML::Node& node, std::vector<std::string>* words) {
  SHARDPLAN_ASSIGN_OR_RETURN(const Json value, FromYaml(node, 0));
  if (value.is_boolean()) {
    // A false one is left out, not negated (vllm/utils/argparse_utils.py:load_config_file).
    if (value.get<bool>()) words->push_back("--" + key);
    return {};
  }
  if (value.is_array() && value.empty()) return {};
  words->push_back("--" + key);
  if (value.is_array()) {
    for (const Json& element : value) words->push_back(TextOf(element));
  } else if (value.is_object()) {
    words->push_back(Dump(value));
  } else {
    words->push_back(node.IsScalar() ? node.Scalar() : "None");
  }
  return {};
}

}  // namespace

Result<std::vector<JsonField>> FieldsOf(std::string_view text) {
  const std::optional<Json> json = Parse(text);
  if (!json || !json->is_object()) {
    return Fail(ErrorCode::kUsage, Printable(text), "expected a JSON object",
                "such as '{\"key\": \"value\"}', in single quotes");
  }
  std::vector<JsonField> fields;
  Collect(*json, "", &fields);
  return fields;
}

struct JsonObject::Impl {
  Json json = Json::object();
};

JsonObject::JsonObject() : impl_(std::make_unique<Impl>()) {}
JsonObject::~JsonObject() = default;
JsonObject::JsonObject(JsonObject&&) noexcept = default;

Status JsonObject::Add(std::string_view path, const std::string& value) {
  const bool list = path.ends_with('+');
  if (list) path.remove_suffix(1);
  if (DepthOf(value) > kDeepest) {
    return Fail(ErrorCode::kUsage, Printable(value),
                fmt::format("nested deeper than {}", kDeepest));
  }
  Json leaf;
  if (list) {
    leaf = Json::array();
    for (size_t begin = 0; begin <= value.size();) {
      const size_t end = std::min(value.find(',', begin), value.size());
      leaf.push_back(value.substr(begin, end - begin));
      begin = end + 1;
    }
  } else if (std::optional<Json> json = Parse(value)) {
    leaf = std::move(*json);
  } else if (const Result<int64_t> number = ParseTokenCount(value)) {
    leaf = *number;
  } else {
    leaf = value;
  }
  Json* at = &impl_->json;
  int depth = 0;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    if (end == begin || ++depth > kDeepest) {
      return Fail(ErrorCode::kUsage, Printable(path), "expected names separated by dots",
                  "such as --compilation-config.cudagraph_mode PIECEWISE");
    }
    if (!at->is_object()) *at = Json::object();
    at = &(*at)[std::string(path.substr(begin, end - begin))];
    begin = end + 1;
  }
  if (at->is_array() && leaf.is_array()) {
    for (Json& element : leaf) at->push_back(std::move(element));
  } else if (at->is_object() && leaf.is_object()) {
    at->merge_patch(leaf);
  } else {
    *at = std::move(leaf);
  }
  return {};
}

std::string JsonObject::Text() const { return Dump(impl_->json); }

Result<std::vector<std::string>> WordsOfYaml(const std::string& text) {
  std::vector<std::string> words;
  try {
    const YAML::Node root = YAML::Load(text);
    if (!root.IsMap()) {
      return Fail(ErrorCode::kUsage, "", "expected a YAML mapping of flags to values");
    }
    for (const auto& entry : root) {
      SHARDPLAN_RETURN_IF_ERROR(AddKey(entry.first.as<std::string>(), entry.second, &words));
    }
  } catch (const YAML::Exception& error) {
    return Fail(ErrorCode::kUsage, "",
                fmt::format("line {}: {}", error.mark.line + 1, Printable(error.msg)));
  }
  return words;
}

}  // namespace shardplan
