// shardplan launch files: which files each node needs.
#include <memory>
#include <string>
#include <utility>

#include "cli/command.h"
#include "cli/launch_target.h"
#include "launch/file_lists.h"

namespace shardplan::cli {

Command AddLaunchFiles(CLI::App* group) {
  const auto hub = std::make_shared<HubSource>();
  LaunchTarget target;
  target.name = "files";
  target.description =
      "Lists of the files that each node needs, for rsync and for the Hugging Face hub\n\n"
      "Examples:\n"
      "  shardplan launch files /models/Kimi-K3 --gpu h20-141 --tp 8 --pp 2 \\\n"
      "    --repo moonshotai/Kimi-K3 -o k3-files/";
  target.add_options = [hub](OptionSet* set) {
    set->Text("--repo", "OWNER/NAME", "Repository of the hub (default: the model that is served)",
              [hub](std::string text) { hub->repo = std::move(text); });
    set->Text("--revision", "REV", "Its branch, tag or commit",
              [hub](std::string text) { hub->revision = std::move(text); });
  };
  target.make = [hub](const LaunchInput& input) {
    HubSource source = *hub;
    if (source.repo.empty()) source.repo = RepoOf(input);
    return MakeFileLists(input, source);
  };
  target.needs_fit = false;
  return AddLaunchTarget(group, std::move(target));
}

}  // namespace shardplan::cli
