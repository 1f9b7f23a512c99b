#include "report/shard_list.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "shardplan/base/file.h"

namespace shardplan {
namespace {

struct Pattern {
  std::string prefix;
  std::string suffix;
  size_t digits = 0;
  std::vector<int64_t> numbers;
};

// Takes the first number out of a name; a name without one (or with one beyond 18 digits) is a
// pattern of its own.
Pattern Split(const std::string& name) {
  constexpr std::string_view kDigits = "0123456789";
  const size_t begin = name.find_first_of(kDigits);
  if (begin == std::string::npos) return {name, "", 0, {}};
  const size_t end = std::min(name.find_first_not_of(kDigits, begin), name.size());
  if (end - begin > 18) return {name, "", 0, {}};
  return {name.substr(0, begin),
          name.substr(end),
          end - begin,
          {std::stoll(name.substr(begin, end - begin))}};
}

std::string Padded(int64_t number, size_t digits) {
  std::string text = std::to_string(number);
  return std::string(text.size() < digits ? digits - text.size() : 0, '0') + text;
}

std::string Render(const Pattern& pattern) {
  std::string list;
  const std::vector<int64_t>& n = pattern.numbers;
  for (size_t i = 0; i < n.size();) {
    size_t last = i;
    while (last + 1 < n.size() && n[last + 1] == n[last] + 1) ++last;
    if (!list.empty()) list += ", ";
    list += Padded(n[i], pattern.digits);
    if (last > i) list += (last > i + 1 ? "…" : ", ") + Padded(n[last], pattern.digits);
    i = last + 1;
  }
  if (n.size() > 1) list = "{" + list + "}";
  return Printable(pattern.prefix) + list + Printable(pattern.suffix);
}

}  // namespace

std::vector<std::string> FoldNames(const std::vector<std::string>& names) {
  std::vector<Pattern> patterns;
  for (const std::string& name : names) {
    Pattern one = Split(name);
    const auto same = [&](const Pattern& other) {
      return one.digits > 0 && other.digits == one.digits && other.prefix == one.prefix &&
             other.suffix == one.suffix;
    };
    // Names come sorted, so the pattern is nearly always the last one.
    const auto it = std::find_if(patterns.rbegin(), patterns.rend(), same);
    if (it == patterns.rend()) {
      patterns.push_back(std::move(one));
    } else {
      it->numbers.push_back(one.numbers[0]);
    }
  }
  std::vector<std::string> out;
  out.reserve(patterns.size());
  for (const Pattern& pattern : patterns) out.push_back(Render(pattern));
  return out;
}

}  // namespace shardplan
