#include "launch/common_part.h"

#include <algorithm>

namespace shardplan {
namespace {

// "--flag" and "-x", but not "-1" or "-".
bool IsFlag(const std::string& word) {
  return word.size() > 1 && word[0] == '-' && !(word[1] >= '0' && word[1] <= '9');
}

template <typename T>
Factored<T> Factor(const std::vector<std::vector<T>>& lists) {
  Factored<T> out;
  const auto is_common = [&](const T& item) {
    return std::all_of(lists.begin(), lists.end(), [&](const std::vector<T>& list) {
      return std::find(list.begin(), list.end(), item) != list.end();
    });
  };
  out.rest.resize(lists.size());
  for (size_t i = 0; i < lists.size(); ++i) {
    for (const T& item : lists[i]) {
      if (!is_common(item)) {
        out.rest[i].push_back(item);
      } else if (i == 0) {
        out.common.push_back(item);
      }
    }
  }
  return out;
}

}  // namespace

std::vector<ArgumentGroup> GroupArguments(const std::vector<std::string>& argv) {
  std::vector<ArgumentGroup> groups;
  for (size_t i = 0; i < argv.size(); ++i) {
    if (i == 0 || (i > 1 && IsFlag(argv[i]))) groups.emplace_back();
    groups.back().push_back(argv[i]);
  }
  return groups;
}

Factored<ArgumentGroup> FactorArguments(const std::vector<std::vector<ArgumentGroup>>& nodes) {
  return Factor(nodes);
}

Factored<std::pair<std::string, std::string>> FactorEnvironment(
    const std::vector<std::vector<std::pair<std::string, std::string>>>& nodes) {
  return Factor(nodes);
}

}  // namespace shardplan
