// Values of flags that engines compare with each other, whatever the model.
#ifndef SHARDPLAN_PREFLIGHT_FLAG_RELATIONS_H_
#define SHARDPLAN_PREFLIGHT_FLAG_RELATIONS_H_

#include <string_view>
#include <vector>

#include "shardplan/base/finding.h"
#include "shardplan/engine/settings.h"

namespace shardplan {

// Of the flags of a command, in the engine's long names (EngineSettings::command_flags), what the
// engine refuses: command.contradiction (error), in its words where it has some. Values that are no
// numbers are left to who reads them, and what settings hold to plan/settings_check.h.
std::vector<Finding> CheckFlagRelations(std::string_view engine,
                                        const std::vector<GivenFlag>& flags);

}  // namespace shardplan

#endif  // SHARDPLAN_PREFLIGHT_FLAG_RELATIONS_H_
