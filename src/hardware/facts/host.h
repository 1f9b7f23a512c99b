#ifndef SHARDPLAN_HARDWARE_FACTS_HOST_H_
#define SHARDPLAN_HARDWARE_FACTS_HOST_H_

#include <string>
#include <string_view>

#include "hardware/facts/node_facts.h"
#include "shardplan/base/result.h"

namespace shardplan::facts {

// `lscpu`, `/proc/meminfo` and `numactl --hardware`, one after the other in one file or each in its
// own. A server with one NUMA node has all its memory there.
Result<HostFacts> ParseHost(std::string_view text, const std::string& file);

}  // namespace shardplan::facts

#endif  // SHARDPLAN_HARDWARE_FACTS_HOST_H_
