// What SGLang refuses about arguments that its sizes have no part in.
#ifndef SHARDPLAN_ENGINE_SGLANG_LEGALITY_H_
#define SHARDPLAN_ENGINE_SGLANG_LEGALITY_H_

#include <string>
#include <vector>

#include "engine/sglang/context.h"
#include "engine/sglang/defaults.h"
#include "shardplan/base/finding.h"

namespace shardplan::sglang {

// Names that SGLang's parser takes (0bda0b168).
const std::vector<std::string>& AttentionBackends();
const std::vector<std::string>& AllToAllBackends();
const std::vector<std::string>& MoeRunners();

// What arguments tell alone: names of backends, caches, drafts and context parallelism that
// contradict each other.
std::vector<Finding> CheckFlags(const ServerArgs& args);

// The same, and windows beyond the model's, backends that a card has not, caches and drafts that
// contradict each other: errors, in SGLang's words where they were read. Sources:
// configs/model_config.py, server_args.py check_server_args and what it calls, model_runner.py
// (0bda0b168); #1778, #9388 for the window.
std::vector<Finding> CheckArguments(const Context& context, const Defaults& defaults);

}  // namespace shardplan::sglang

#endif  // SHARDPLAN_ENGINE_SGLANG_LEGALITY_H_
