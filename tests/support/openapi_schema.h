// A document against a structural OpenAPI v3 schema, as an API server looks at custom resources;
// fields that the schema does not know are refused, as `kubectl apply --validate=strict` does.
#ifndef SHARDPLAN_TESTS_SUPPORT_OPENAPI_SCHEMA_H_
#define SHARDPLAN_TESTS_SUPPORT_OPENAPI_SCHEMA_H_

#include <limits>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace shardplan::testing_support {

class OpenApiCheck {
 public:
  // What is wrong, one line each: "/spec/replicas: expected integer".
  static std::vector<std::string> Run(const nlohmann::json& schema, const nlohmann::json& value) {
    OpenApiCheck check;
    check.Value(schema, value, "");
    return check.wrong_;
  }

 private:
  using Json = nlohmann::json;

  void Complain(const std::string& at, const std::string& what) {
    wrong_.push_back((at.empty() ? "/" : at) + ": " + what);
  }

  static bool HasType(const Json& value, const std::string& type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_boolean();
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    return false;
  }

  void Value(const Json& schema, const Json& value, const std::string& at) {
    if (schema.value("x-kubernetes-int-or-string", false)) {
      if (!value.is_string() && !value.is_number_integer()) {
        Complain(at, "expected an integer or a string");
      }
    } else if (schema.contains("type") && !HasType(value, schema["type"])) {
      return Complain(at, "expected " + schema["type"].get<std::string>());
    }
    if (schema.contains("enum")) {
      bool found = false;
      for (const Json& choice : schema["enum"]) found = found || choice == value;
      if (!found) Complain(at, "not one of the choices: " + value.dump());
    }
    if (value.is_string()) Text(schema, value.get_ref<const std::string&>(), at);
    if (value.is_number()) Number(schema, value, at);
    if (value.is_object()) Object(schema, value, at);
    if (value.is_array()) Array(schema, value, at);
  }

  void Text(const Json& schema, const std::string& text, const std::string& at) {
    if (schema.contains("pattern") &&
        !std::regex_search(text, std::regex(schema["pattern"].get<std::string>()))) {
      Complain(at, "does not match " + schema["pattern"].get<std::string>());
    }
    if (schema.contains("maxLength") && text.size() > schema["maxLength"].get<size_t>()) {
      Complain(at, "too long");
    }
    if (schema.contains("minLength") && text.size() < schema["minLength"].get<size_t>()) {
      Complain(at, "too short");
    }
  }

  void Number(const Json& schema, const Json& value, const std::string& at) {
    if (schema.contains("minimum") && value < schema["minimum"]) Complain(at, "too small");
    if (schema.contains("maximum") && value > schema["maximum"]) Complain(at, "too large");
    if (schema.value("format", "") == "int32" && (value > std::numeric_limits<int32_t>::max() ||
                                                  value < std::numeric_limits<int32_t>::min())) {
      Complain(at, "no 32-bit integer");
    }
  }

  void Object(const Json& schema, const Json& value, const std::string& at) {
    for (const Json& name : schema.value("required", Json::array())) {
      if (!value.contains(name.get<std::string>())) {
        Complain(at, "lacks " + name.get<std::string>());
      }
    }
    const bool has_properties = schema.contains("properties");
    const bool has_others = schema.contains("additionalProperties");
    const bool open = schema.value("x-kubernetes-preserve-unknown-fields", false) ||
                      (!has_properties && !has_others);
    for (const auto& [name, member] : value.items()) {
      const std::string below = at + "/" + name;
      if (has_properties && schema["properties"].contains(name)) {
        Value(schema["properties"][name], member, below);
      } else if (has_others && schema["additionalProperties"].is_object()) {
        Value(schema["additionalProperties"], member, below);
      } else if (!open && !has_others) {
        Complain(below, "unknown field");
      }
    }
  }

  void Array(const Json& schema, const Json& value, const std::string& at) {
    std::set<std::string> keys;
    for (size_t i = 0; i < value.size(); ++i) {
      const std::string below = at + "/" + std::to_string(i);
      if (schema.contains("items")) Value(schema["items"], value[i], below);
      if (schema.value("x-kubernetes-list-type", "") != "map") continue;
      Json key = Json::array();
      for (const Json& name : schema["x-kubernetes-list-map-keys"]) {
        const std::string field = name.get<std::string>();
        const Json& fields = schema["items"]["properties"];
        const Json fallback =
            fields.contains(field) ? fields[field].value("default", Json()) : Json();
        key.push_back(value[i].is_object() ? value[i].value(field, fallback) : Json());
      }
      if (!keys.insert(key.dump()).second) Complain(below, "the same key twice: " + key.dump());
    }
  }

  std::vector<std::string> wrong_;
};

}  // namespace shardplan::testing_support

#endif  // SHARDPLAN_TESTS_SUPPORT_OPENAPI_SCHEMA_H_
