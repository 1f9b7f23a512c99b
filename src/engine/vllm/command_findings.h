// What a plan made of a command cannot vouch for.
#ifndef SHARDPLAN_ENGINE_VLLM_COMMAND_FINDINGS_H_
#define SHARDPLAN_ENGINE_VLLM_COMMAND_FINDINGS_H_

#include <string_view>
#include <vector>

#include "engine/vllm/flag_table.h"
#include "shardplan/base/finding.h"
#include "shardplan/engine/settings.h"
#include "shardplan/model/architecture.h"

namespace shardplan::vllm {

// Of the flags and variables in `settings`, for a model and the version that was asked for:
//
//   command.flag_too_new      (warning) the version does not have the flag yet
//   command.flag_removed      (warning) the version does not have the flag any more
//   command.not_modelled      (warning) may change memory in a way that the plan does not know
//   command.ignored           (note)    all flags that change nothing, and those that the launch
//                                       commands have on their own
//   environment.not_modelled  (warning) the same of a variable
std::vector<Finding> CheckCommand(const FlagTable& table, std::string_view version,
                                  const Architecture& arch, const EngineSettings& settings);

}  // namespace shardplan::vllm

#endif  // SHARDPLAN_ENGINE_VLLM_COMMAND_FINDINGS_H_
