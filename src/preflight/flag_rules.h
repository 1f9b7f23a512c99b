// Flags that stand in each other's way, whatever the model.
#ifndef SHARDPLAN_PREFLIGHT_FLAG_RULES_H_
#define SHARDPLAN_PREFLIGHT_FLAG_RULES_H_

#include <string>
#include <string_view>
#include <vector>

#include "shardplan/base/finding.h"
#include "shardplan/engine/settings.h"

namespace shardplan {

// Of the flags of a command, in the engine's long names (EngineSettings::command_flags):
//
//   command.contradiction  (error)   the engine refuses the two together, or one without the other
//   command.idle           (warning) a flag has no effect beside another, or without one
//   command.incomplete     (warning) a flag wants another that is not there
std::vector<Finding> CheckFlagRules(std::string_view engine, const std::vector<GivenFlag>& flags);

}  // namespace shardplan

#endif  // SHARDPLAN_PREFLIGHT_FLAG_RULES_H_
