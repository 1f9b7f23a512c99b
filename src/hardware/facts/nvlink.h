#ifndef SHARDPLAN_HARDWARE_FACTS_NVLINK_H_
#define SHARDPLAN_HARDWARE_FACTS_NVLINK_H_

#include <string>
#include <string_view>
#include <vector>

#include "hardware/facts/node_facts.h"
#include "shardplan/base/result.h"

namespace shardplan::facts {

// `nvidia-smi nvlink -s`: one entry a card, in the order of their numbers. Links that are inactive
// do not count. Lines of other options of the command are skipped.
Result<std::vector<NvlinkFacts>> ParseNvlink(std::string_view text, const std::string& file);

}  // namespace shardplan::facts

#endif  // SHARDPLAN_HARDWARE_FACTS_NVLINK_H_
