#include "plan/launch_flags.h"

#include <utility>
#include <vector>

#include "engine/command_findings.h"

namespace shardplan {

void CheckLaunchFlags(const FlagTable& flags, const std::string& version,
                      const EngineSettings& settings, Plan* plan) {
  if (plan->launch.empty()) return;
  std::vector<std::string> argv = plan->launch.front().argv;
  for (const GivenFlag& flag : settings.command_flags) std::erase(argv, flag.name);
  for (Finding& finding : CheckLaunch(flags, version, argv)) {
    plan->findings.push_back(std::move(finding));
  }
}

}  // namespace shardplan
