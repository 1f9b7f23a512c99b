// What a plan made of a command cannot vouch for.
#ifndef SHARDPLAN_ENGINE_COMMAND_FINDINGS_H_
#define SHARDPLAN_ENGINE_COMMAND_FINDINGS_H_

#include <string>
#include <string_view>
#include <vector>

#include "engine/flag_table.h"
#include "shardplan/base/finding.h"
#include "shardplan/engine/settings.h"
#include "shardplan/model/architecture.h"

namespace shardplan {

// Of the flags and variables in `settings`, for a model and the version that was asked for:
//
//   command.flag_too_new      (warning) the version does not have the flag yet
//   command.flag_removed      (warning) the version does not have the flag any more
//   command.ranks_not_modelled (error)  changes the number of ranks, which the plan does not count
//   command.not_modelled      (warning) may change memory in a way that the plan does not know
//   command.ignored           (note)    all flags that change nothing, and those that the launch
//                                       commands have on their own
//   environment.not_modelled  (warning) the same of a variable
std::vector<Finding> CheckCommand(const FlagTable& table, std::string_view version,
                                  const Architecture& arch, const EngineSettings& settings);

// Flags of a launch command that the version does not have: launch.flag_too_new (warning), one for
// all of them. `argv` is the command's.
std::vector<Finding> CheckLaunch(const FlagTable& table, std::string_view version,
                                 const std::vector<std::string>& argv);

// Whether the version takes the whole command, as its parser reads it (program first; words such as
// "<MASTER_ADDR>" are values). Errors, one for each:
//
//   launch.flag_unknown   the engine has no such flag, or it lacks its value
//   launch.flag_too_new   the version does not have the flag yet
//   launch.flag_removed   the version does not have the flag any more
std::vector<Finding> CheckEmitted(const FlagTable& table, std::string_view version,
                                  const std::vector<std::string>& argv);

}  // namespace shardplan

#endif  // SHARDPLAN_ENGINE_COMMAND_FINDINGS_H_
