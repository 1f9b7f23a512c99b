#include "launch/yaml_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <set>

#include "shardplan/base/file.h"

namespace shardplan {
namespace {

constexpr size_t kLongestKey = 1024;  // of an implicit key, YAML 1.2 section 7.4

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Words that YAML 1.1 or 1.2 reads as something else than text.
bool IsReserved(std::string_view text) {
  static constexpr std::array<std::string_view, 9> kWords = {"true", "false", "yes", "no", "on",
                                                             "off",  "null",  "y",   "n"};
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return std::find(kWords.begin(), kWords.end(), lower) != kWords.end();
}

// Begins like a name, a path or a flag and holds nothing with a meaning: no ": " or " #", no colon
// at all (1.1 has numbers to the base of 60), and no letter form of a number.
bool IsBare(std::string_view text) {
  if (text.empty() || IsReserved(text)) return false;
  const size_t dashes = std::min(text.find_first_not_of('-'), text.size());
  const bool flag = dashes == 2 && text.size() > 2 && IsLetter(text[2]);
  if (!flag && !IsLetter(text[0]) && text[0] != '/') return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return IsLetter(c) || IsDigit(c) || std::string_view("-_./+").find(c) != std::string_view::npos;
  });
}

// The character at `at` as a number, and its length in bytes; length 0 where it is not UTF-8.
struct CodePoint {
  char32_t value = 0;
  size_t length = 0;
};

CodePoint Decode(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  if (lead < 0x80) return {lead, 1};
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 0;
  if (length == 0 || lead > 0xf4 || at + length > text.size()) return {};
  char32_t value = lead & (0x7fU >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xc0U) != 0x80) return {};
    value = (value << 6) | (byte(at + i) & 0x3fU);
  }
  static constexpr std::array<char32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xd800 && value <= 0xdfff;
  if (value < kSmallest[length] || value > 0x10ffff || surrogate) return {};
  return {value, length};
}

bool IsUtf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t length = Decode(text, at).length;
    if (length == 0) return false;
    at += length;
  }
  return true;
}

// YAML's own idea of what may stand in a file, and what a terminal may see.
bool IsShown(std::string_view character, char32_t value) {
  return value != 0xfeff && value != 0xfffe && value != 0xffff && Printable(character) == character;
}

std::string DoubleQuoted(std::string_view text) {
  std::string out = "\"";
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = Decode(text, at);
    const std::string_view character = text.substr(at, point.length);
    at += point.length;
    if (character == "\"" || character == "\\") {
      out += '\\';
      out += character;
    } else if (character == "\n") {
      out += "\\n";
    } else if (character == "\t") {
      out += "\\t";
    } else if (IsShown(character, point.value)) {
      out += character;
    } else if (point.value < 0x100) {
      out += fmt::format("\\x{:02x}", static_cast<uint32_t>(point.value));
    } else if (point.value < 0x10000) {
      out += fmt::format("\\u{:04x}", static_cast<uint32_t>(point.value));
    } else {
      out += fmt::format("\\U{:08x}", static_cast<uint32_t>(point.value));
    }
  }
  return out + "\"";
}

std::vector<std::string_view> Lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// Whether a text comes back from a literal block as it was: several lines of what may be shown, the
// first neither empty nor indented, none ending in a space, and at most one newline at the end.
bool IsBlock(std::string_view text) {
  const size_t newline = text.find('\n');
  if (newline == std::string_view::npos || newline + 1 == text.size()) return false;
  if (text.ends_with("\n\n") || text[0] == '\n' || text[0] == ' ') return false;
  for (const std::string_view line : Lines(text)) {
    if (line.ends_with(' ')) return false;
    for (size_t at = 0; at < line.size();) {
      const CodePoint point = Decode(line, at);
      if (!IsShown(line.substr(at, point.length), point.value)) return false;
      at += point.length;
    }
  }
  return true;
}

std::string Pointer(const std::string& parent, std::string_view key) {
  std::string out = parent + "/";
  for (const char c : key) {
    if (c == '~' || c == '/') {
      out += c == '~' ? "~0" : "~1";
    } else {
      out += c;
    }
  }
  return out;
}

std::string Comment(std::string_view text, size_t indent) {
  std::string out;
  for (const std::string_view line : Lines(text)) {
    out.append(indent, ' ');
    out += line.empty() ? "#\n" : "# " + Printable(line, 4 * line.size() + 4) + "\n";
  }
  return out;
}

class Writer {
 public:
  explicit Writer(const YamlDocument& document) : document_(document) {}

  Result<std::string> Run() {
    out_ = Comment(document_.comment, 0);
    SHARDPLAN_RETURN_IF_ERROR(Top());
    for (const auto& [pointer, comment] : document_.comments) {
      if (seen_.contains(pointer)) continue;
      return Fail(ErrorCode::kInternal, Printable(pointer), "the comment belongs to no entry");
    }
    return std::move(out_);
  }

 private:
  Status Top() {
    const YamlValue& value = document_.value;
    if (!value.is_structured() || value.empty()) return Value(value, "", 0);
    return value.is_object() ? Map(value, "", 0, false) : List(value, "", 0);
  }

  // What stands above an entry; the first of a map in a list stands behind the dash.
  void Above(const std::string& pointer, size_t indent) {
    seen_.insert(pointer);
    const auto found = document_.comments.find(pointer);
    if (found != document_.comments.end()) out_ += Comment(found->second, indent);
  }

  // `inline_first`: the cursor stands behind "- " already.
  Status Map(const YamlValue& map, const std::string& pointer, size_t indent, bool inline_first) {
    for (const auto& [key, member] : map.items()) {
      if (key.size() > kLongestKey) {
        return Fail(ErrorCode::kInvalidInput, Printable(key),
                    "expected a key of at most 1,024 bytes");
      }
      const std::string below = Pointer(pointer, key);
      if (!inline_first) {
        Above(below, indent);
        out_.append(indent, ' ');
      }
      inline_first = false;
      SHARDPLAN_ASSIGN_OR_RETURN(const std::string name, YamlQuote(key));
      out_ += name + ":";
      SHARDPLAN_RETURN_IF_ERROR(Below(member, below, indent));
    }
    return {};
  }

  Status Below(const YamlValue& member, const std::string& pointer, size_t indent) {
    if (!member.is_structured() || member.empty()) {
      out_ += ' ';
      return Value(member, pointer, indent + 2);
    }
    out_ += '\n';
    return member.is_object() ? Map(member, pointer, indent + 2, false)
                              : List(member, pointer, indent + 2);
  }

  Status List(const YamlValue& list, const std::string& pointer, size_t indent) {
    for (size_t i = 0; i < list.size(); ++i) {
      const std::string below = Pointer(pointer, std::to_string(i));
      Above(below, indent);
      // A comment on the first key of a map stands above the dash.
      const bool map = list[i].is_object() && !list[i].empty();
      if (map) Above(Pointer(below, list[i].begin().key()), indent);
      out_.append(indent, ' ');
      if (map) {
        out_ += "- ";
        SHARDPLAN_RETURN_IF_ERROR(Map(list[i], below, indent + 2, true));
      } else {
        out_ += "-";
        SHARDPLAN_RETURN_IF_ERROR(Below(list[i], below, indent));
      }
    }
    return {};
  }

  // A scalar or an empty collection, behind "key: " or "- "; `indent` is that of a block.
  Status Value(const YamlValue& value, const std::string& pointer, size_t indent) {
    if (value.is_string()) {
      const std::string& text = value.get_ref<const std::string&>();
      if (IsUtf8(text) && IsBlock(text)) {
        Block(text, std::max<size_t>(indent, 2));
        return {};
      }
      SHARDPLAN_ASSIGN_OR_RETURN(const std::string quoted, YamlQuote(text));
      out_ += quoted + "\n";
      return {};
    }
    if (value.is_number_float() && !std::isfinite(value.get<double>())) {
      return Fail(ErrorCode::kInvalidInput, Printable(pointer), "expected a finite number");
    }
    // Numbers, booleans, null, {} and [] read the same in both languages.
    out_ += value.dump() + "\n";
    return {};
  }

  void Block(std::string_view text, size_t indent) {
    out_ += text.ends_with('\n') ? "|\n" : "|-\n";
    for (const std::string_view line : Lines(text)) {
      if (!line.empty()) out_.append(indent, ' ');
      out_ += line;
      out_ += '\n';
    }
  }

  const YamlDocument& document_;
  std::string out_;
  std::set<std::string> seen_;
};

}  // namespace

Result<std::string> YamlQuote(std::string_view text) {
  if (IsBare(text)) return std::string(text);
  if (!IsUtf8(text)) {
    return Fail(ErrorCode::kInvalidInput, Printable(text),
                "expected UTF-8, found bytes that YAML cannot hold", "rename it");
  }
  return DoubleQuoted(text);
}

Result<std::string> WriteYaml(const YamlDocument& document) { return Writer(document).Run(); }

Result<std::string> WriteYaml(const std::vector<YamlDocument>& documents) {
  std::string out;
  for (const YamlDocument& document : documents) {
    SHARDPLAN_ASSIGN_OR_RETURN(const std::string text, WriteYaml(document));
    if (!out.empty()) out += "---\n";
    out += text;
  }
  return out;
}

}  // namespace shardplan
