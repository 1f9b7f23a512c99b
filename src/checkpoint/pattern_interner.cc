#include "checkpoint/pattern_interner.h"

#include <algorithm>
#include <utility>

namespace shardplan {
namespace {

constexpr std::string_view kPlaceholder = "{}";
constexpr size_t kMaxDigits = 7;  // as in SplitTensorName

// Takes an index from the front of `text`, or returns false. That a whole segment was taken shows
// in what follows: the pattern goes on with a dot there, or ends.
bool TakeIndex(std::string_view* text, int32_t* index) {
  size_t digits = 0;
  int32_t value = 0;
  for (; digits < text->size() && digits <= kMaxDigits; ++digits) {
    const char c = (*text)[digits];
    if (c < '0' || c > '9') break;
    value = value * 10 + (c - '0');
  }
  if (digits == 0 || digits > kMaxDigits || (digits > 1 && (*text)[0] == '0')) return false;
  text->remove_prefix(digits);
  *index = value;
  return true;
}

}  // namespace

// A match is the split that SplitTensorName would make. Where the pattern has fewer than three
// placeholders, none of its literal segments is a number, or it would have been taken; where it has
// three, numbers may stand only after the third.
bool PatternInterner::Matches(const Pattern& pattern, std::string_view name, NameIndices* indices) {
  if (pattern.escaped) return false;
  *indices = kNoIndices;
  std::string_view rest = pattern.text;
  for (size_t i = 0; i < pattern.indices; ++i) {
    const std::string_view literal =
        rest.substr(0, pattern.places[i] - (pattern.text.size() - rest.size()));
    if (!name.starts_with(literal)) return false;
    name.remove_prefix(literal.size());
    rest.remove_prefix(literal.size() + kPlaceholder.size());
    if (!TakeIndex(&name, &(*indices)[i])) return false;
  }
  return name == rest;
}

uint32_t PatternInterner::Intern(std::string_view name, NameIndices* indices) {
  if (!patterns_.empty()) {
    const uint32_t guess = patterns_[last_].successor;
    if (Matches(patterns_[guess], name, indices)) return last_ = guess;
  }
  SplitTensorName(name, &buffer_, indices);
  const uint32_t number = Find(buffer_, *indices);
  patterns_[last_].successor = number;
  return last_ = number;
}

uint32_t PatternInterner::Find(const std::string& text, const NameIndices& indices) {
  const auto number = static_cast<uint32_t>(patterns_.size());
  const auto [at, is_new] = numbers_.try_emplace(text, number);
  if (!is_new) return at->second;
  Pattern& pattern = patterns_.emplace_back();
  pattern.text = text;
  pattern.successor = number;
  pattern.escaped = text.find("{{}}") != std::string::npos;
  pattern.indices = static_cast<size_t>(
      std::count_if(indices.begin(), indices.end(), [](int32_t index) { return index >= 0; }));
  for (size_t i = 0, from = 0; i < pattern.indices; ++i) {
    pattern.places[i] = text.find(kPlaceholder, from);
    from = pattern.places[i] + kPlaceholder.size();
  }
  return number;
}

std::vector<std::string> PatternInterner::Take() {
  std::vector<std::string> out;
  out.reserve(patterns_.size());
  for (Pattern& pattern : patterns_) out.push_back(std::move(pattern.text));
  *this = PatternInterner();
  return out;
}

}  // namespace shardplan
