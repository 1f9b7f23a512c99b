// shardplan launch docker.
#include <memory>

#include "cli/command.h"
#include "cli/container_options.h"
#include "cli/launch_target.h"
#include "launch/docker_scripts.h"

namespace shardplan::cli {

Command AddLaunchDocker(CLI::App* group) {
  const auto options = std::make_shared<ContainerOptions>();
  LaunchTarget target;
  target.name = "docker";
  target.description =
      "A container a node with docker run: one script each\n\n"
      "Examples:\n"
      "  shardplan launch docker /models/Kimi-K3 --gpu h20-141 --tp 8 --pp 2 -o deploy/\n"
      "  shardplan launch docker /models/Kimi-K3 --gpu h20-141 --tp 8 --pp 2 --host 10.0.0.1 \\\n"
      "    --host 10.0.0.2 --socket-ifname bond0 --ib-hca mlx5_0 --ib-gid-index 3";
  target.add_options = [options](OptionSet* set) { AddContainerOptions(set, options.get()); };
  target.make = [options](const LaunchInput& input) { return MakeDockerScripts(input, *options); };
  target.image = [options] { return options->image; };
  return AddLaunchTarget(group, std::move(target));
}

}  // namespace shardplan::cli
