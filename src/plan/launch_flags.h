// Whether the launch commands of a plan are ones that the version takes.
#ifndef SHARDPLAN_PLAN_LAUNCH_FLAGS_H_
#define SHARDPLAN_PLAN_LAUNCH_FLAGS_H_

#include <string>

#include "engine/flag_table.h"
#include "shardplan/engine/settings.h"
#include "shardplan/plan/plan.h"

namespace shardplan {

// Adds a finding for flags that the version does not know, beyond those of a command that was read:
// these are told already.
void CheckLaunchFlags(const FlagTable& flags, const std::string& version,
                      const EngineSettings& settings, Plan* plan);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_LAUNCH_FLAGS_H_
