// What the nodes' commands have in common, and what each has of its own.
#ifndef SHARDPLAN_LAUNCH_COMMON_PART_H_
#define SHARDPLAN_LAUNCH_COMMON_PART_H_

#include <string>
#include <utility>
#include <vector>

namespace shardplan {

// A flag with its values, or words in front of the first flag: what stands on one line.
using ArgumentGroup = std::vector<std::string>;

// The arguments of a command, program first, cut before every flag; `python3 -m MODULE` and
// `vllm serve MODEL` stay whole.
std::vector<ArgumentGroup> GroupArguments(const std::vector<std::string>& argv);

template <typename T>
struct Factored {
  std::vector<T> common;             // in the order of the first list
  std::vector<std::vector<T>> rest;  // of each list, in its order
};

// What all lists hold, and what is left of each.
Factored<ArgumentGroup> FactorArguments(const std::vector<std::vector<ArgumentGroup>>& nodes);
Factored<std::pair<std::string, std::string>> FactorEnvironment(
    const std::vector<std::vector<std::pair<std::string, std::string>>>& nodes);

}  // namespace shardplan

#endif  // SHARDPLAN_LAUNCH_COMMON_PART_H_
