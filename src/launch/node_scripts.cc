#include "launch/node_scripts.h"

#include <fmt/format.h>

#include <utility>

#include "shardplan/base/file.h"
#include "shardplan/launch/shell.h"

namespace shardplan {

std::pair<std::string, std::string> EngineProgram(const PreparedLaunch& launch) {
  return {launch.nodes[0].argv[0],
          fmt::format("install {}, or activate where it is", launch.engine)};
}

std::vector<std::string> LockedMemoryLines(const PreparedLaunch& launch) {
  if (!launch.rdma) return {};
  return {
      "[[ $(ulimit -l) == unlimited ]] ||",
      "  echo \"warning: locked memory is limited (ulimit -l): RDMA may fail to register\" >&2"};
}

std::vector<std::vector<ArgumentGroup>> Arguments(const PreparedLaunch& launch) {
  std::vector<std::vector<ArgumentGroup>> out;
  for (const NodeLaunch& node : launch.nodes) out.push_back(GroupArguments(node.argv));
  return out;
}

Bundle NodeScripts(const PreparedLaunch& launch, const SiteSectionOptions& options) {
  const auto arguments = FactorArguments(Arguments(launch));
  const auto env = FactorEnvironment(Environments(launch));
  std::string common = CommonHead("What the nodes have in common", launch);
  common += SiteSection(launch, options);
  if (!env.common.empty()) common += "\n# Of the plan.\n" + BashExports(env.common);
  common += ShownNames(launch);
  common += CheckFunction(launch, {EngineProgram(launch)}, LockedMemoryLines(launch));
  common += "\n# start ARGUMENT…: the engine, with what a node has of its own.\nstart() {\n";
  common += "  local command=(\n" + BashWords(launch, arguments.common, 4) +
            OwnArguments(arguments) + "  )\n";
  common +=
      "  if [[ -n $DRY_RUN ]]; then\n    show \"${command[@]}\"\n    return\n  fi\n"
      "  check\n  exec \"${command[@]}\"\n}\n";

  Bundle bundle;
  bundle.variables = launch.variables;
  for (size_t i = 0; i < launch.nodes.size(); ++i) {
    std::string text = NodeHead(launch, i, env.rest[i]) + "start";
    for (const ArgumentGroup& group : arguments.rest[i]) {
      for (const std::string& word : group) text += " " + BashWord(launch, word);
    }
    bundle.files.push_back({fmt::format("node-{}.sh", launch.nodes[i].node), text + "\n", true,
                            fmt::format("starts the engine: {}", DescribeNode(launch, i))});
    bundle.commands.push_back(launch.nodes[i].argv);
  }
  bundle.files.push_back({"common.sh", std::move(common), false,
                          "what the nodes have in common; must lie beside each script"});
  return bundle;
}

Result<Bundle> MakeNodeScripts(const LaunchInput& input) {
  SHARDPLAN_ASSIGN_OR_RETURN(const PreparedLaunch launch, PrepareLaunch(input));
  return NodeScripts(launch, {});
}

}  // namespace shardplan
