// shardplan launch stage-index: an index for each pipeline stage.
#include "cli/command.h"
#include "cli/context.h"
#include "cli/launch_target.h"
#include "launch/stage_index.h"

namespace shardplan::cli {

Command AddLaunchStageIndex(CLI::App* group) {
  LaunchTarget target;
  target.name = "stage-index";
  target.description =
      "An index for each pipeline stage, for nodes that hold their own layers' files alone\n\n"
      "Examples:\n"
      "  shardplan launch stage-index /models/Kimi-K3 --gpu h20-141 --tp 8 --pp 2 \\\n"
      "    --pp-partition 48,45 -o k3-index/";
  target.make = [](const LaunchInput& input) {
    OpenOptions open;
    open.threads = ReaderThreads();
    return MakeStageIndex(input, open);
  };
  target.needs_fit = false;
  target.needs_directory = true;
  return AddLaunchTarget(group, std::move(target));
}

}  // namespace shardplan::cli
