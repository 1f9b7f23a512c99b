#include "checkpoint/json_output.h"

#include <simdjson.h>

#include <charconv>

namespace shardplan {
namespace {

bool NeedsEscape(char c) { return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\'; }

void AppendEscape(char c, std::string* out) {
  switch (c) {
    case '"':
      *out += "\\\"";
      return;
    case '\\':
      *out += "\\\\";
      return;
    case '\b':
      *out += "\\b";
      return;
    case '\f':
      *out += "\\f";
      return;
    case '\n':
      *out += "\\n";
      return;
    case '\r':
      *out += "\\r";
      return;
    case '\t':
      *out += "\\t";
      return;
    default: {
      constexpr char kDigits[] = "0123456789abcdef";
      *out += "\\u00";
      *out += kDigits[(c >> 4) & 0xf];
      *out += kDigits[c & 0xf];
    }
  }
}

}  // namespace

void AppendJsonString(std::string_view text, std::string* out) {
  *out += '"';
  size_t copied = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!NeedsEscape(text[i])) continue;
    out->append(text.substr(copied, i - copied));
    AppendEscape(text[i], out);
    copied = i + 1;
  }
  out->append(text.substr(copied));
  *out += '"';
}

void AppendInteger(int64_t value, std::string* out) {
  char digits[20];
  out->append(digits, std::to_chars(digits, digits + sizeof(digits), value).ptr);
}

bool IsUtf8(std::string_view text) { return simdjson::validate_utf8(text.data(), text.size()); }

}  // namespace shardplan
