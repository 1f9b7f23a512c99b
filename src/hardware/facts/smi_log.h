#ifndef SHARDPLAN_HARDWARE_FACTS_SMI_LOG_H_
#define SHARDPLAN_HARDWARE_FACTS_SMI_LOG_H_

#include <string>
#include <string_view>
#include <vector>

#include "hardware/facts/node_facts.h"
#include "shardplan/base/result.h"

namespace shardplan::facts {

// `nvidia-smi -q`. Fails with kInvalidInput where it is cut: fewer cards than it says are attached,
// or one without its memory.
Result<std::vector<CardFacts>> ParseSmiLog(std::string_view text, const std::string& file);

}  // namespace shardplan::facts

#endif  // SHARDPLAN_HARDWARE_FACTS_SMI_LOG_H_
