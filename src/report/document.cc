#include "report/document.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace shardplan {
namespace {

// Words that YAML 1.1 or 1.2 reads as something else than text.
bool IsPlainKey(std::string_view key) {
  static constexpr std::array<std::string_view, 10> kWords = {"true", "false", "yes", "no", "on",
                                                              "off",  "null",  "y",   "n",  "~"};
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  return !key.empty() && key[0] >= 'a' && key[0] <= 'z' &&
         std::all_of(key.begin(), key.end(), plain) &&
         std::find(kWords.begin(), kWords.end(), key) == kWords.end();
}

void Emit(const Document& value, YAML::Emitter* out) {
  switch (value.type()) {
    case Document::value_t::object:
      if (value.empty()) *out << YAML::Flow;
      *out << YAML::BeginMap;
      for (const auto& [key, member] : value.items()) {
        *out << YAML::Key;
        if (!IsPlainKey(key)) *out << YAML::DoubleQuoted;
        *out << key << YAML::Value;
        Emit(member, out);
      }
      *out << YAML::EndMap;
      break;
    case Document::value_t::array:
      if (value.empty()) *out << YAML::Flow;
      *out << YAML::BeginSeq;
      for (const Document& member : value) Emit(member, out);
      *out << YAML::EndSeq;
      break;
    case Document::value_t::string:
      *out << YAML::DoubleQuoted << value.get_ref<const std::string&>();
      break;
    case Document::value_t::null:
      *out << YAML::Null;
      break;
    default:  // numbers and booleans read the same in both languages
      *out << value.dump();
  }
}

}  // namespace

std::string DumpJson(const Document& document) {
  return document.dump(2, ' ', false, Document::error_handler_t::replace) + "\n";
}

std::string DumpYaml(const Document& document) {
  YAML::Emitter out;
  Emit(document, &out);
  return std::string(out.c_str(), out.size()) + "\n";
}

}  // namespace shardplan
