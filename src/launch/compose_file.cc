#include "launch/compose_file.h"

#include <fmt/format.h>

#include <utility>

#include "launch/bash_script.h"
#include "launch/yaml_writer.h"

namespace shardplan {
namespace {

// A variable with what compose says where it is not set: "${MASTER_ADDR:?address of node 0 …}".
std::string Required(const SiteVariable& variable) {
  return fmt::format("${{{}:?{}, such as {}}}", variable.name, variable.what, variable.example);
}

std::string WordOf(const PreparedLaunch& launch, size_t node, const std::string& word) {
  const PreparedLaunch::Word split = launch.Split(word);
  if (split.variable == nullptr) return ComposeText(word);
  std::string value = split.variable->ValueOf(static_cast<int64_t>(node));
  if (!split.text.empty()) value = BeforePort(value);
  return (value.empty() ? Required(*split.variable) : ComposeText(value)) + ComposeText(split.text);
}

YamlValue Words(const PreparedLaunch& launch, size_t node, const std::vector<std::string>& words) {
  YamlValue out = YamlValue::array();
  for (const std::string& word : words) out.push_back(WordOf(launch, node, word));
  return out;
}

YamlValue Mounts(const PreparedLaunch& launch, size_t node, const Container& c) {
  YamlValue out = YamlValue::array();
  for (const ContainerMount& mount : c.mounts) {
    std::string target = WordOf(launch, node, mount.target);
    if (!mount.below.empty()) target += "/" + mount.below;
    out.push_back({{"type", "bind"},
                   {"source", WordOf(launch, node, mount.source)},
                   {"target", target},
                   {"read_only", true},
                   {"bind", {{"create_host_path", false}}}});
  }
  return out;
}

void AddNetwork(const Container& c, YamlValue* service) {
  if (c.host_network) {
    (*service)["network_mode"] = "host";
    return;
  }
  (*service)["ports"] = YamlValue::array({{{"host_ip", c.publish_address},
                                           {"published", c.port},
                                           {"target", c.port},
                                           {"protocol", "tcp"}}});
}

void AddLimits(const Container& c, YamlValue* service) {
  if (!c.ipc.empty()) (*service)["ipc"] = c.ipc;
  if (c.ipc != "host") (*service)["shm_size"] = c.shm_size.count();
  (*service)["ulimits"] = {{"memlock", -1}, {"stack", 67108864}};
  if (c.memory) {
    (*service)["mem_limit"] = c.memory->count();
    (*service)["memswap_limit"] = c.memory->count();
  }
  (*service)["pids_limit"] = c.pids_limit;
  if (!c.cpuset_cpus.empty()) (*service)["cpuset"] = c.cpuset_cpus;
}

YamlValue Health(const Container& c) {
  if (!c.health) return {{"disable", true}};
  YamlValue test = YamlValue::array({"CMD"});
  for (const std::string& word : c.health->test) test.push_back(ComposeText(word));
  return {{"test", std::move(test)},
          {"interval", "30s"},
          {"timeout", "10s"},
          {"retries", 5},
          {"start_period", fmt::format("{}s", c.health->start_seconds)}};
}

YamlDocument Document(const Containers& containers, size_t node, const std::string& engine) {
  const PreparedLaunch& launch = containers.launch;
  const Container& c = containers.nodes[node];
  YamlValue service = {{"container_name", c.name}, {"image", c.image}};
  service["entrypoint"] = Words(launch, node, {c.entrypoint});
  service["command"] = Words(launch, node, c.command);
  if (!c.env.empty() || !c.passed.empty()) {
    service["environment"] = YamlValue::object();
    for (const auto& [name, value] : c.env) {
      service["environment"][name] = WordOf(launch, node, value);
    }
    for (const std::string& name : c.passed) service["environment"][name] = nullptr;
  }
  service["volumes"] = Mounts(launch, node, c);
  YamlValue cards = {{"driver", "nvidia"}};
  if (c.gpu_ids.empty()) {
    cards["count"] = c.gpus;
  } else {
    cards["device_ids"] = c.gpu_ids;
  }
  cards["capabilities"] = YamlValue::array({"gpu"});
  service["deploy"]["resources"]["reservations"]["devices"] = YamlValue::array({std::move(cards)});
  AddNetwork(c, &service);
  if (!c.devices.empty()) {
    service["devices"] = YamlValue::array();
    for (const std::string& device : c.devices) service["devices"].push_back(device + ":" + device);
  }
  if (!c.capabilities.empty()) service["cap_add"] = c.capabilities;
  service["security_opt"] = YamlValue::array({"no-new-privileges:true"});
  AddLimits(c, &service);
  service["init"] = true;
  service["restart"] = fmt::format("on-failure:{}", c.restarts);
  service["healthcheck"] = Health(c);
  YamlDocument out;
  out.comment = fmt::format("{} of {} on {}. README.md tells more.", DescribeNode(launch, node),
                            launch.name, launch.engine);
  out.value = {{"name", launch.name}, {"services", {{engine, std::move(service)}}}};
  const std::string at = "/services/" + engine;
  if (c.image.find('@') == std::string::npos) {
    out.comments[at + "/image"] = "A tag can be moved: a digest (NAME:TAG@sha256:…) cannot.";
  }
  if (c.health) {
    out.comments[at + "/healthcheck"] = "The start period is an estimate: see README.md.";
  }
  if (c.memory) out.comments[at + "/mem_limit"] = "No swap: both limits are the same.";
  return out;
}

}  // namespace

std::string ComposeText(const std::string& text) {
  std::string out;
  for (const char c : text) {
    out += c;
    if (c == '$') out += c;
  }
  return out;
}

Result<Bundle> MakeComposeFiles(const LaunchInput& input, const ContainerOptions& options) {
  if (!options.cpuset_mems.empty()) {
    return Fail(ErrorCode::kUnsupported, "--cpuset-mems",
                "compose has no word for the NUMA nodes of a container's memory",
                "write `shardplan launch docker` instead, or leave it out");
  }
  SHARDPLAN_ASSIGN_OR_RETURN(Containers containers, MakeContainers(input, options));
  // No script resolves a name here, and the engine cannot bind one.
  for (SiteVariable& variable : containers.launch.variables) {
    const bool name = containers.launch.binds_master && variable.name == "MASTER_ADDR" &&
                      variable.known() && !IsAddress(variable.values[0]);
    if (name) variable.values.clear();
  }
  Bundle bundle;
  bundle.variables = containers.launch.variables;
  bundle.assumptions = containers.assumptions;
  bundle.notes = containers.notes;
  for (size_t i = 0; i < containers.nodes.size(); ++i) {
    SHARDPLAN_ASSIGN_OR_RETURN(std::string text,
                               WriteYaml(Document(containers, i, input.plan.engine)));
    const Container& c = containers.nodes[i];
    bundle.files.push_back({fmt::format("node-{}/compose.yaml", containers.launch.nodes[i].node),
                            std::move(text), false,
                            fmt::format("`docker compose up --detach` there starts {}",
                                        DescribeNode(containers.launch, i))});
    std::vector<std::string> argv = {c.entrypoint};
    argv.insert(argv.end(), c.command.begin(), c.command.end());
    bundle.commands.push_back(std::move(argv));
  }
  return bundle;
}

}  // namespace shardplan
