#include "launch/docker_scripts.h"

#include <fmt/format.h>

#include <utility>

#include "launch/bash_script.h"
#include "launch/common_part.h"
#include "shardplan/base/file.h"
#include "shardplan/launch/shell.h"

namespace shardplan {
namespace {

constexpr const char* kMount = R"(
# read_only SOURCE TARGET: the value of --mount, which is CSV: a quote is written twice.
read_only() {
  local quote='"'
  printf 'type=bind,"source=%s","target=%s",readonly' \
    "${1//$quote/$quote$quote}" "${2//$quote/$quote$quote}"
}
)";

std::string MountLine(const PreparedLaunch& launch, const ContainerMount& mount) {
  std::string target = BashWord(launch, mount.target);
  if (!mount.below.empty()) target += "/" + ShellQuote(mount.below);
  return fmt::format("--mount \"$(read_only {} {})\"", BashWord(launch, mount.source), target);
}

std::string EnvLine(const PreparedLaunch& launch, const std::string& name,
                    const std::string& value) {
  const PreparedLaunch::Word word = launch.Split(value);
  if (word.variable == nullptr) return "--env " + BashElement(name + "=" + value);
  // A key by its name alone: what is on the line can be read by everyone on the node.
  if (word.variable->secret) return "--env " + name;
  return fmt::format("--env \"{}=${}{}\"", name, word.variable->name, word.text);
}

// The options of `docker run`, as lines of bash.
std::vector<ArgumentGroup> Options(const PreparedLaunch& launch, const Container& c) {
  std::vector<ArgumentGroup> out;
  const auto add = [&](std::string line) { out.push_back({std::move(line)}); };
  add("--detach --init");
  add("--name " + ShellQuote(c.name));
  add(fmt::format("--restart on-failure:{}", c.restarts));
  // Docker reads the value as CSV, which wants a list in quotes.
  add(c.gpu_ids.empty()
          ? fmt::format("--gpus {}", c.gpus)
          : "--gpus " + ShellQuote(fmt::format("\"device={}\"", fmt::join(c.gpu_ids, ","))));
  if (c.host_network) {
    add("--network host");
  } else {
    add("--publish " +
        ShellQuote(fmt::format("{}:{}:{}", BeforePort(c.publish_address), c.port, c.port)));
  }
  for (const std::string& device : c.devices) add("--device " + ShellQuote(device));
  for (const std::string& capability : c.capabilities) add("--cap-add " + ShellQuote(capability));
  add("--security-opt no-new-privileges");
  if (!c.ipc.empty()) add("--ipc " + ShellQuote(c.ipc));
  if (c.ipc != "host") add(fmt::format("--shm-size {}", c.shm_size.count()));
  add("--ulimit memlock=-1 --ulimit stack=67108864");
  if (c.memory) add(fmt::format("--memory {0} --memory-swap {0}", c.memory->count()));
  add(fmt::format("--pids-limit {}", c.pids_limit));
  if (!c.cpuset_cpus.empty()) add("--cpuset-cpus " + BashElement(c.cpuset_cpus));
  if (!c.cpuset_mems.empty()) add("--cpuset-mems " + BashElement(c.cpuset_mems));
  for (const ContainerMount& mount : c.mounts) add(MountLine(launch, mount));
  for (const auto& [name, value] : c.env) add(EnvLine(launch, name, value));
  for (const std::string& name : c.passed) add("--env " + name);
  if (c.health) {
    std::string test;
    for (const std::string& word : c.health->test)
      test += (test.empty() ? "" : " ") + ShellQuote(word);
    add("--health-cmd " + ShellQuote(test));
    add(fmt::format("--health-start-period {}s --health-interval 30s --health-timeout 10s",
                    c.health->start_seconds));
    add("--health-retries 5");
  } else {
    add("--no-healthcheck");
  }
  return out;
}

std::string Lines(const std::vector<ArgumentGroup>& groups, int indent) {
  std::string out;
  for (const ArgumentGroup& group : groups) {
    out += std::string(static_cast<size_t>(indent), ' ') + group[0] + "\n";
  }
  return out;
}

// What stands behind the image, cut before every flag.
std::vector<ArgumentGroup> Command(const Container& c) {
  std::vector<std::string> argv = {c.entrypoint};
  argv.insert(argv.end(), c.command.begin(), c.command.end());
  std::vector<ArgumentGroup> groups = GroupArguments(argv);
  groups[0].erase(groups[0].begin());
  if (groups[0].empty()) groups.erase(groups.begin());
  return groups;
}

std::string Common(const Containers& containers, const Factored<ArgumentGroup>& options,
                   const Factored<ArgumentGroup>& arguments) {
  const PreparedLaunch& launch = containers.launch;
  const Container& first = containers.nodes[0];
  std::string out = CommonHead("What the containers have in common", launch);
  out += SiteSection(launch) + "\nSHOWN=()\n";
  std::vector<std::string> lines;
  if (launch.rdma) {
    lines = {
        "[[ -d /dev/infiniband ]] || fail '/dev/infiniband: not on this node: RDMA has no "
        "devices'"};
  }
  out += CheckFunction(launch, {{"docker", "install it with the NVIDIA container toolkit"}}, lines);
  out += kMount;
  out +=
      "\n# start ARGUMENT…: the container, with the options (OPTIONS) and the engine's arguments "
      "that this\n# node has of its own.\nstart() {\n  local command=(\n    docker run\n";
  out += Lines(options.common, 4);
  out += "    \"${OPTIONS[@]}\"\n";
  if (first.image.find('@') == std::string::npos) {
    out += "    # A tag can be moved: a digest (NAME:TAG@sha256:…) cannot.\n";
  }
  out += fmt::format("    --entrypoint {} {}\n", ShellQuote(first.entrypoint),
                     ShellQuote(first.image));
  out += BashWords(launch, arguments.common, 4) + OwnArguments(arguments) + "  )\n";
  out +=
      "  if [[ -n $DRY_RUN ]]; then\n    show \"${command[@]}\"\n    return\n  fi\n"
      "  check\n  exec \"${command[@]}\"\n}\n";
  return out;
}

}  // namespace

Result<Bundle> MakeDockerScripts(const LaunchInput& input, const ContainerOptions& options) {
  SHARDPLAN_ASSIGN_OR_RETURN(const Containers containers, MakeContainers(input, options));
  const PreparedLaunch& launch = containers.launch;
  std::vector<std::vector<ArgumentGroup>> docker;
  std::vector<std::vector<ArgumentGroup>> engine;
  for (const Container& node : containers.nodes) {
    docker.push_back(Options(launch, node));
    engine.push_back(Command(node));
  }
  Factored<ArgumentGroup> own = FactorArguments(docker);
  const Factored<ArgumentGroup> arguments = FactorArguments(engine);
  // A name belongs to its node, also where there is one node alone.
  if (containers.nodes.size() == 1) {
    own.rest[0] = {own.common[1]};
    own.common.erase(own.common.begin() + 1);
  }
  Bundle bundle;
  bundle.variables = launch.variables;
  bundle.assumptions = containers.assumptions;
  bundle.notes = containers.notes;
  for (size_t i = 0; i < containers.nodes.size(); ++i) {
    const Container& node = containers.nodes[i];
    std::string text = NodeHead(launch, i, {});
    text += "# shellcheck disable=SC2034  # common.sh reads them\nOPTIONS=(\n" +
            Lines(own.rest[i], 2) + ")\nstart";
    for (const ArgumentGroup& group : arguments.rest[i]) {
      for (const std::string& word : group) text += " " + BashWord(launch, word);
    }
    bundle.files.push_back(
        {fmt::format("node-{}.sh", launch.nodes[i].node), text + "\n", true,
         fmt::format("starts the container {}: {}", node.name, DescribeNode(launch, i))});
    std::vector<std::string> argv = {node.entrypoint};
    argv.insert(argv.end(), node.command.begin(), node.command.end());
    bundle.commands.push_back(std::move(argv));
  }
  bundle.files.push_back({"common.sh", Common(containers, own, arguments), false,
                          "what the nodes have in common; must lie beside each script"});
  return bundle;
}

}  // namespace shardplan
