#include "shardplan/base/suggest.h"

#include <algorithm>
#include <utility>

namespace shardplan {
namespace {

// Insertions, deletions, substitutions and swaps of neighbours, one row at a time.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> above;  // the row before `row`
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    std::vector<size_t> next(b.size() + 1);
    next[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = row[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      next[j] = std::min({substituted, row[j] + 1, next[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        next[j] = std::min(next[j], above[j - 2] + 1);
      }
    }
    above = std::exchange(row, std::move(next));
  }
  return row[b.size()];
}

}  // namespace

std::vector<std::string> CloseNames(std::string_view word,
                                    const std::vector<std::string>& candidates, size_t limit) {
  constexpr size_t kLongest = 200;  // nobody mistypes more than this, and the cost is quadratic
  constexpr size_t kTelling = 2;    // one letter is in everything
  word = word.substr(0, kLongest);
  std::vector<std::pair<size_t, std::string>> ranked;
  for (const std::string& candidate : candidates) {
    const size_t distance = EditDistance(word, std::string_view(candidate).substr(0, kLongest));
    const bool contained = word.size() >= kTelling && candidate.find(word) != std::string::npos;
    if (contained || distance <= std::max<size_t>(1, word.size() / 3)) {
      ranked.emplace_back(contained ? std::min<size_t>(distance, 1) : distance, candidate);
    }
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::string> out;
  for (auto& [distance, name] : ranked) {
    if (out.size() == limit) break;
    out.push_back(std::move(name));
  }
  return out;
}

std::string JoinWithOr(const std::vector<std::string>& words) {
  std::string out;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += i + 1 == words.size() ? " or " : ", ";
    out += words[i];
  }
  return out;
}

}  // namespace shardplan
