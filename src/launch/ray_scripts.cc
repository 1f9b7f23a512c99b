#include "launch/ray_scripts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "engine/flag_table.h"
#include "launch/bash_script.h"
#include "launch/node_launch.h"
#include "launch/node_scripts.h"
#include "shardplan/base/file.h"

namespace shardplan {
namespace {

// "span": a replica takes as many nodes as it needs.
constexpr const char* kPackStrategy = "VLLM_RAY_DP_PACK_STRATEGY";

constexpr const char* kWait = R"(
# Ray counts the nodes that joined; vLLM plans with those that are there when it starts.
wait_for_nodes() {
  local joined=0 tries
  for ((tries = 0; tries < 120; tries++)); do
    joined=$(ray status 2> /dev/null | grep -Ec '^ *[0-9]+ node_') || true
    if [[ $joined -ge $NODES ]]; then return 0; fi
    sleep 5
  done
  fail "$joined of $NODES nodes joined the Ray cluster: start worker-N.sh on the others"
}
)";

bool Has(const std::vector<std::string>& argv, std::string_view flag) {
  return std::find(argv.begin(), argv.end(), flag) != argv.end();
}

std::string StartHead(const PreparedLaunch& launch, const std::vector<std::string>& argv,
                      bool several) {
  const std::string address =
      several ? "\"--node-ip-address=$VLLM_HOST_IP\" " : "--node-ip-address=127.0.0.1 ";
  std::string out = "\n# The head of the cluster, and the engine on it.\nstart_head() {\n";
  out += fmt::format(
      "  local head=(ray start --head {}\"--port=$RAY_PORT\"\n"
      "    --num-gpus={} --include-dashboard=false --disable-usage-stats)\n",
      address, launch.nodes[0].gpus);
  out += "  local command=(\n" + BashWords(launch, GroupArguments(argv), 4) + "  )\n";
  out +=
      "  if [[ -n $DRY_RUN ]]; then\n    show \"${head[@]}\"\n    show \"${command[@]}\"\n"
      "    return\n  fi\n  check\n  \"${head[@]}\"\n  wait_for_nodes\n  exec "
      "\"${command[@]}\"\n}\n";
  return out;
}

std::string StartWorker(const PreparedLaunch& launch) {
  return fmt::format(
      "\n# A node that joins: it stays until the head goes.\nstart_worker() {{\n"
      "  local command=(ray start \"--address={}:$RAY_PORT\"\n"
      "    \"--node-ip-address=$VLLM_HOST_IP\" --num-gpus={} --disable-usage-stats --block)\n"
      "  if [[ -n $DRY_RUN ]]; then\n    show \"${{command[@]}}\"\n    return\n  fi\n"
      "  check\n  exec \"${{command[@]}}\"\n}}\n",
      MasterBeforePort(launch), launch.nodes[0].gpus);
}

}  // namespace

std::vector<std::string> RayCommand(const std::vector<std::string>& argv, bool spans) {
  static constexpr std::array<std::string_view, 8> kDropped = {"--distributed-executor-backend",
                                                               "--nnodes",
                                                               "--node-rank",
                                                               "--master-addr",
                                                               "--master-port",
                                                               "--data-parallel-start-rank",
                                                               "--data-parallel-address",
                                                               "--data-parallel-rpc-port"};
  const bool engines_elsewhere = spans || Has(argv, "--data-parallel-address");
  std::vector<std::string> out;
  for (const ArgumentGroup& group : GroupArguments(argv)) {
    const std::string name = group[0].substr(0, group[0].find('='));
    if (std::find(kDropped.begin(), kDropped.end(), name) != kDropped.end()) continue;
    if (spans && name == "--data-parallel-size-local") continue;
    if (name != "--headless") out.insert(out.end(), group.begin(), group.end());
  }
  // With engines on other nodes Ray places those, and each of them its own ranks.
  out.emplace_back(engines_elsewhere ? "--data-parallel-backend"
                                     : "--distributed-executor-backend");
  out.emplace_back("ray");
  return out;
}

Result<Bundle> MakeRayScripts(const LaunchInput& input) {
  if (input.plan.engine != "vllm") {
    return Fail(ErrorCode::kUnsupported, "launch ray",
                "expected vLLM, found SGLang, whose nodes find each other without Ray",
                "write `shardplan launch commands` instead");
  }
  SHARDPLAN_ASSIGN_OR_RETURN(PreparedLaunch launch, PrepareLaunch(input));
  const ParallelSizes& sizes = input.plan.sizes;
  const bool spans = sizes.dp > 1 && sizes.tp * sizes.pp > input.plan.gpus_per_node;
  if (spans) {
    // vllm-project/vllm#26367; 0.12.0 is the first release that surely has it.
    constexpr const char* kSince = "0.12.0";
    if (IsOlder(VersionOf(input), kSince)) {
      return Fail(ErrorCode::kUnsupported, "launch ray",
                  fmt::format("expected replicas of one node each, found {} of {} ranks: vLLM "
                              "places such on Ray since {}",
                              sizes.dp, sizes.tp * sizes.pp, kSince),
                  "write `shardplan launch commands` instead");
    }
    for (NodeLaunch& node : launch.nodes) {
      const bool given = std::any_of(node.env.begin(), node.env.end(), [](const auto& variable) {
        return variable.first == kPackStrategy;
      });
      if (!given) node.env.emplace_back(kPackStrategy, "span");
    }
  }
  const std::vector<std::string> argv = RayCommand(launch.nodes[0].argv, spans);
  const auto env = FactorEnvironment(Environments(launch));
  const bool several = launch.multi_node();
  std::string common = CommonHead("What the nodes of the Ray cluster have in common", launch);
  SiteSectionOptions site;
  site.master_before_port = several;
  common += SiteSection(launch, site);
  if (!env.common.empty()) common += "\n# Of the plan.\n" + BashExports(env.common);
  common += fmt::format("RAY_PORT=6379\nNODES={}\n", launch.nodes.size());
  common += ShownNames(launch);
  common += CheckFunction(
      launch,
      {EngineProgram(launch), {"ray", "install it beside vLLM: pip install 'ray[default]'"}},
      LockedMemoryLines(launch));
  common += kWait + StartHead(launch, argv, several);
  if (several) common += StartWorker(launch);

  Bundle bundle;
  bundle.variables = launch.variables;
  bundle.commands = {argv};
  for (size_t i = 0; i < launch.nodes.size(); ++i) {
    const std::string name =
        i == 0 ? std::string("head.sh") : fmt::format("worker-{}.sh", launch.nodes[i].node);
    bundle.files.push_back(
        {name, NodeHead(launch, i, env.rest[i]) + (i == 0 ? "start_head\n" : "start_worker\n"),
         true,
         i == 0 ? "starts the head of the cluster, waits for all nodes and serves"
                : fmt::format("joins the cluster: node {}", launch.nodes[i].node)});
  }
  bundle.files.push_back({"common.sh", std::move(common), false,
                          "what the nodes have in common; must lie beside each script"});
  bundle.notes.push_back("`ray stop` on every node ends what is left when the head was stopped.");
  if (several) {
    bundle.notes.push_back(
        "vLLM gives the ranks that follow the head's to the other nodes in the order of their "
        "addresses: where nodes hold the files of their stage alone, number them in that order.");
  }
  return bundle;
}

}  // namespace shardplan
