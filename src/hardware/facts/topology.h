#ifndef SHARDPLAN_HARDWARE_FACTS_TOPOLOGY_H_
#define SHARDPLAN_HARDWARE_FACTS_TOPOLOGY_H_

#include <string>
#include <string_view>

#include "hardware/facts/node_facts.h"
#include "shardplan/base/result.h"

namespace shardplan::facts {

// `nvidia-smi topo -m`, with tabs or with the spaces that a copy makes of them. Fails with
// kInvalidInput where the matrix is cut or one-sided.
Result<TopologyFacts> ParseTopology(std::string_view text, const std::string& file);

}  // namespace shardplan::facts

#endif  // SHARDPLAN_HARDWARE_FACTS_TOPOLOGY_H_
