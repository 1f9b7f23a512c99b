#ifndef SHARDPLAN_HARDWARE_FACTS_SMI_QUERY_H_
#define SHARDPLAN_HARDWARE_FACTS_SMI_QUERY_H_

#include <string>
#include <string_view>
#include <vector>

#include "hardware/facts/node_facts.h"
#include "shardplan/base/result.h"

namespace shardplan::facts {

// `nvidia-smi --query-gpu=name,memory.total,… --format=csv`, with its header line. Columns are
// found by name; those that are not known are skipped. Fails with kInvalidInput where name or
// memory.total is missing or a line is cut.
Result<std::vector<CardFacts>> ParseSmiQuery(std::string_view text, const std::string& file);

}  // namespace shardplan::facts

#endif  // SHARDPLAN_HARDWARE_FACTS_SMI_QUERY_H_
