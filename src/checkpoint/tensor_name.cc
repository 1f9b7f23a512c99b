#include "shardplan/checkpoint/tensor_name.h"

#include <charconv>
#include <cstddef>

namespace shardplan {
namespace {

constexpr std::string_view kPlaceholder = "{}";
constexpr size_t kMaxIndexDigits = 7;  // below 10,000,000

// The value of a segment that counts as an index, or -1.
int32_t IndexValue(std::string_view segment) {
  if (segment.empty() || segment.size() > kMaxIndexDigits) return -1;
  if (segment[0] == '0' && segment.size() > 1) return -1;
  int32_t value = 0;
  for (const char c : segment) {
    if (c < '0' || c > '9') return -1;
    value = value * 10 + (c - '0');
  }
  return value;
}

// Appends literal text of a name, writing "{}" as "{{}}".
void AppendEscaped(std::string_view text, std::string* out) {
  for (size_t at; (at = text.find(kPlaceholder)) != std::string_view::npos;) {
    out->append(text.substr(0, at)).append("{{}}");
    text.remove_prefix(at + kPlaceholder.size());
  }
  out->append(text);
}

}  // namespace

void SplitTensorName(std::string_view name, std::string* pattern, NameIndices* indices) {
  pattern->clear();
  *indices = kNoIndices;
  const bool has_placeholder = name.find(kPlaceholder) != std::string_view::npos;
  size_t taken = 0;
  size_t copied = 0;  // everything before it is in the pattern
  auto copy_until = [&](size_t end) {
    const std::string_view literal = name.substr(copied, end - copied);
    if (has_placeholder) {
      AppendEscaped(literal, pattern);
    } else {
      pattern->append(literal);
    }
  };
  for (size_t begin = 0; taken < indices->size();) {
    size_t end = name.find('.', begin);
    if (end == std::string_view::npos) end = name.size();
    const int32_t value = IndexValue(name.substr(begin, end - begin));
    if (value >= 0) {
      copy_until(begin);
      pattern->append(kPlaceholder);
      copied = end;
      (*indices)[taken++] = value;
    }
    if (end == name.size()) break;
    begin = end + 1;
  }
  copy_until(name.size());
}

std::string JoinTensorName(std::string_view pattern, const NameIndices& indices) {
  std::string name;
  name.reserve(pattern.size() + 16);
  size_t used = 0;
  size_t copied = 0;
  for (size_t at = 0; (at = pattern.find(kPlaceholder, at)) != std::string_view::npos;) {
    // A placeholder is a whole segment, so only an escaped "{}" stands between braces.
    const size_t after = at + kPlaceholder.size();
    const bool escaped =
        at > copied && pattern[at - 1] == '{' && after < pattern.size() && pattern[after] == '}';
    if (escaped) {
      name.append(pattern.substr(copied, at - 1 - copied)).append(kPlaceholder);
      at = copied = after + 1;
      continue;
    }
    name.append(pattern.substr(copied, at - copied));
    if (used < indices.size() && indices[used] >= 0) {
      char digits[12];
      const auto end = std::to_chars(digits, digits + sizeof(digits), indices[used]).ptr;
      name.append(digits, end);
    } else {
      name.append(kPlaceholder);  // not a pattern of ours; keep its text
    }
    ++used;
    at = copied = after;
  }
  name.append(pattern.substr(copied));
  return name;
}

}  // namespace shardplan
