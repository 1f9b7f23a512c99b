#include "launch/node_scripts.h"

#include <fmt/format.h>

#include "shardplan/base/file.h"
#include "shardplan/launch/shell.h"

namespace shardplan {

Result<Bundle> MakeNodeScripts(const LaunchInput& input) {
  if (input.plan.launch.empty()) {
    return Fail(ErrorCode::kUnsupported, Printable(input.plan.source),
                "expected a layout that the engine can start, found an illegal one",
                "see what `shardplan plan` says with the same options");
  }
  Bundle bundle;
  for (const LaunchPlan& launch : input.plan.launch) {
    std::string text = "#!/usr/bin/env bash\nset -euo pipefail\n\n";
    text += RenderCommand(launch) + "\n";
    bundle.files.push_back({fmt::format("node-{}.sh", launch.node), std::move(text), true});
  }
  return bundle;
}

}  // namespace shardplan
