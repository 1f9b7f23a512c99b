// YAML as a parser of Kubernetes types it: plain scalars as numbers, booleans and null, quoted ones
// as text.
#ifndef SHARDPLAN_TESTS_SUPPORT_YAML_JSON_H_
#define SHARDPLAN_TESTS_SUPPORT_YAML_JSON_H_

#include <yaml-cpp/yaml.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace shardplan::testing_support {

// The words of YAML 1.1 count, which sigs.k8s.io/yaml reads.
inline nlohmann::json ScalarToJson(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "!") return text;  // quoted, or a block
  static const std::set<std::string> truths = {"true", "True", "TRUE", "yes", "Yes", "YES",
                                               "on",   "On",   "ON",   "y",   "Y"};
  static const std::set<std::string> lies = {"false", "False", "FALSE", "no", "No", "NO",
                                             "off",   "Off",   "OFF",   "n",  "N"};
  if (truths.contains(text)) return true;
  if (lies.contains(text)) return false;
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") {
    return nullptr;
  }
  const auto number = nlohmann::json::parse(text, nullptr, false);
  return number.is_number() ? number : nlohmann::json(text);
}

inline nlohmann::json ToJson(const YAML::Node& node) {
  if (node.IsMap()) {
    nlohmann::json out = nlohmann::json::object();
    for (const auto& entry : node) out[entry.first.Scalar()] = ToJson(entry.second);
    return out;
  }
  if (node.IsSequence()) {
    nlohmann::json out = nlohmann::json::array();
    for (const YAML::Node& member : node) out.push_back(ToJson(member));
    return out;
  }
  return node.IsScalar() ? ScalarToJson(node) : nlohmann::json();
}

inline nlohmann::json YamlToJson(const std::string& text) { return ToJson(YAML::Load(text)); }

}  // namespace shardplan::testing_support

#endif  // SHARDPLAN_TESTS_SUPPORT_YAML_JSON_H_
