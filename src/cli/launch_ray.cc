// shardplan launch ray.
#include "cli/command.h"
#include "cli/launch_target.h"
#include "launch/ray_scripts.h"

namespace shardplan::cli {

Command AddLaunchRay(CLI::App* group) {
  LaunchTarget target;
  target.name = "ray";
  target.description =
      "vLLM on a Ray cluster: a script for the head and one for each worker\n\n"
      "Examples:\n"
      "  shardplan launch ray /models/Kimi-K3 --gpu h20-141 --tp 8 --pp 2 -o deploy/";
  target.make = [](const LaunchInput& input) { return MakeRayScripts(input); };
  return AddLaunchTarget(group, std::move(target));
}

}  // namespace shardplan::cli
