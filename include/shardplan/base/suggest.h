// "Did you mean …?"
#ifndef SHARDPLAN_BASE_SUGGEST_H_
#define SHARDPLAN_BASE_SUGGEST_H_

#include <string>
#include <string_view>
#include <vector>

namespace shardplan {

// The candidates closest to `word`, best first, at most `limit`: those within a third of the word's
// length in edit distance (a swap of neighbours counts once), and those that contain it, where it
// has two letters or more. Ties go by name.
std::vector<std::string> CloseNames(std::string_view word,
                                    const std::vector<std::string>& candidates, size_t limit = 3);

// "a, b or c"; empty for an empty list.
std::string JoinWithOr(const std::vector<std::string>& words);

}  // namespace shardplan

#endif  // SHARDPLAN_BASE_SUGGEST_H_
