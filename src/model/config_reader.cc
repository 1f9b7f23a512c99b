#include "model/config_reader.h"

#include <fmt/format.h>

#include <set>

#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

constexpr int kMaxDepth = 64;

// The deepest nesting of brackets outside strings; no parser needed, so nothing can overflow.
int NestingDepth(std::string_view text) {
  int depth = 0;
  int deepest = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > deepest) deepest = depth;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return deepest;
}

std::string Shown(const nlohmann::json& value) {
  return Printable(value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace), 60);
}

const nlohmann::json& EmptyObject() {
  static const nlohmann::json empty = nlohmann::json::object();
  return empty;
}

// Python writes Infinity and NaN, which JSON does not know. No field that is read here may be one,
// so they become null: absent.
std::string WithoutPythonFloats(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool in_string = false;
  for (size_t i = 0; i < text.size();) {
    if (!in_string) {
      bool replaced = false;
      for (const std::string_view word : {"-Infinity", "Infinity", "NaN"}) {
        if (text.substr(i, word.size()) != word) continue;
        out += "null";
        i += word.size();
        replaced = true;
        break;
      }
      if (replaced) continue;
    }
    if (in_string && text[i] == '\\' && i + 1 < text.size()) {
      out += text[i++];
    } else if (text[i] == '"') {
      in_string = !in_string;
    }
    out += text[i++];
  }
  return out;
}

}  // namespace

Result<nlohmann::json> ParseConfigObject(std::string_view text, const std::string& subject) {
  if (const int depth = NestingDepth(text); depth > kMaxDepth) {
    return Fail(ErrorCode::kInvalidInput, subject,
                fmt::format("expected JSON at most {} levels deep, found {}", kMaxDepth, depth));
  }
  // A byte-order mark is common in files that went through an editor on Windows.
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  // A key that stands twice would silently be its last value.
  std::vector<std::set<std::string>> keys;
  std::string twice;
  const auto watch = [&](int, nlohmann::json::parse_event_t event, nlohmann::json& parsed) {
    if (event == nlohmann::json::parse_event_t::object_start) keys.emplace_back();
    if (event == nlohmann::json::parse_event_t::object_end) keys.pop_back();
    if (event == nlohmann::json::parse_event_t::key && twice.empty()) {
      std::string key = parsed.get<std::string>();
      if (!keys.back().insert(key).second) twice = std::move(key);
    }
    return true;
  };
  nlohmann::json value =
      nlohmann::json::parse(WithoutPythonFloats(text), watch, /*allow_exceptions=*/false);
  if (value.is_discarded()) {
    const bool option = subject.starts_with("--");
    return Fail(ErrorCode::kInvalidInput, subject,
                text.empty() && !option ? "expected JSON, the file is empty"
                                        : "expected JSON, could not parse",
                option ? "an object in single quotes: '{\"key\": value}'" : "fetch the file again");
  }
  if (!twice.empty()) {
    return Fail(ErrorCode::kInvalidInput, subject,
                fmt::format("the key '{}' stands twice in one object", Printable(twice)),
                "keep the one that is meant");
  }
  if (!value.is_object()) {
    return Fail(ErrorCode::kInvalidInput, subject,
                fmt::format("expected a JSON object, found {}", value.type_name()));
  }
  return value;
}

ConfigReader::ConfigReader(const nlohmann::json& object, std::string subject, std::string path)
    : object_(&object), subject_(std::move(subject)), path_(std::move(path)) {}

const nlohmann::json* ConfigReader::Find(std::string_view key) const {
  if (!object_->is_object()) return nullptr;
  const auto it = object_->find(std::string(key));
  if (it == object_->end() || it->is_null()) return nullptr;
  return &*it;
}

bool ConfigReader::Has(std::string_view key) const { return Find(key) != nullptr; }

void ConfigReader::Expected(std::string_view key, std::string_view what,
                            const nlohmann::json* found) {
  if (error_) return;
  error_ = Error{ErrorCode::kInvalidInput, subject_,
                 fmt::format("{}{}: expected {}, found {}", path_, key, what,
                             found ? Shown(*found) : "nothing"),
                 ""};
}

void ConfigReader::Contradiction(std::string_view key, std::string message) {
  if (error_) return;
  error_ =
      Error{ErrorCode::kInvalidInput, subject_, fmt::format("{}{}: {}", path_, key, message), ""};
}

int64_t ConfigReader::Int(std::string_view key, int64_t low, int64_t high) {
  const nlohmann::json* value = Find(key);
  const bool fits =
      value && value->is_number_integer() &&
      !(value->is_number_unsigned() && value->get<uint64_t>() > static_cast<uint64_t>(INT64_MAX));
  if (fits) {
    const int64_t number = value->get<int64_t>();
    if (number >= low && number <= high) return number;
  }
  Expected(key, fmt::format("an integer from {} to {}", FormatCount(low), FormatCount(high)),
           value);
  return low;
}

int64_t ConfigReader::IntOr(std::string_view key, int64_t low, int64_t high, int64_t absent) {
  return Has(key) ? Int(key, low, high) : absent;
}

double ConfigReader::NumberOr(std::string_view key, double low, double high, double absent) {
  const nlohmann::json* value = Find(key);
  if (!value) return absent;
  if (value->is_number()) {
    const double number = value->get<double>();
    if (number >= low && number <= high) return number;
  }
  Expected(key, fmt::format("a number from {} to {}", low, high), value);
  return absent;
}

bool ConfigReader::BoolOr(std::string_view key, bool absent) {
  const nlohmann::json* value = Find(key);
  if (!value) return absent;
  if (value->is_boolean()) return value->get<bool>();
  Expected(key, "true or false", value);
  return absent;
}

std::string ConfigReader::StringOr(std::string_view key, std::string absent) {
  const nlohmann::json* value = Find(key);
  if (!value) return absent;
  if (value->is_string()) return value->get<std::string>();
  Expected(key, "a string", value);
  return absent;
}

std::vector<int64_t> ConfigReader::IntList(std::string_view key, int64_t low, int64_t high) {
  std::vector<int64_t> out;
  const nlohmann::json* value = Find(key);
  const std::string what = fmt::format("a list of integers from {} to {}", low, high);
  if (!value || !value->is_array()) {
    Expected(key, what, value);
    return out;
  }
  for (const nlohmann::json& item : *value) {
    if (!item.is_number_integer() || item.get<int64_t>() < low || item.get<int64_t>() > high) {
      Expected(key, what, &item);
      return {};
    }
    out.push_back(item.get<int64_t>());
  }
  return out;
}

std::vector<std::string> ConfigReader::StringListOr(std::string_view key,
                                                    std::vector<std::string> absent) {
  const nlohmann::json* value = Find(key);
  if (!value) return absent;
  std::vector<std::string> out;
  if (!value->is_array()) {
    Expected(key, "a list of strings", value);
    return absent;
  }
  for (const nlohmann::json& item : *value) {
    if (!item.is_string()) {
      Expected(key, "a list of strings", &item);
      return absent;
    }
    out.push_back(item.get<std::string>());
  }
  return out;
}

ConfigReader ConfigReader::Object(std::string_view key) {
  const nlohmann::json* value = Find(key);
  if (!value || !value->is_object()) {
    Expected(key, "an object", value);
    ConfigReader broken(EmptyObject(), subject_, fmt::format("{}{}.", path_, key));
    broken.error_ = error_;
    return broken;
  }
  return ConfigReader(*value, subject_, fmt::format("{}{}.", path_, key));
}

ConfigReader ConfigReader::ObjectOr(std::string_view key) {
  if (Has(key)) return Object(key);
  return ConfigReader(EmptyObject(), subject_, fmt::format("{}{}.", path_, key));
}

void ConfigReader::Adopt(const ConfigReader& child) {
  if (!error_) error_ = child.error_;
}

}  // namespace shardplan
