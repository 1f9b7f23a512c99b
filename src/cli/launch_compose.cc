// shardplan launch compose.
#include <memory>

#include "cli/command.h"
#include "cli/container_options.h"
#include "cli/launch_target.h"
#include "launch/compose_file.h"

namespace shardplan::cli {

Command AddLaunchCompose(CLI::App* group) {
  const auto options = std::make_shared<ContainerOptions>();
  LaunchTarget target;
  target.name = "compose";
  target.description =
      "A compose.yaml a node\n\n"
      "Examples:\n"
      "  shardplan launch compose /models/Kimi-K3 --gpu h20-141 --tp 8 --pp 2 -o deploy/\n"
      "  shardplan launch compose /models/Kimi-K3 --gpu h20-141 --tp 8 --pp 2 --host 10.0.0.1 \\\n"
      "    --host 10.0.0.2 --socket-ifname bond0 --ib-hca mlx5_0 --ib-gid-index 3";
  target.add_options = [options](OptionSet* set) { AddContainerOptions(set, options.get()); };
  target.make = [options](const LaunchInput& input) { return MakeComposeFiles(input, *options); };
  target.image = [options] { return options->image; };
  return AddLaunchTarget(group, std::move(target));
}

}  // namespace shardplan::cli
