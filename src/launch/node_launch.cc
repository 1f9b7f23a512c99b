#include "launch/node_launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>

#include "shardplan/base/file.h"

namespace shardplan {
namespace {

constexpr const char* kDefaultApiHost = "127.0.0.1";
constexpr int64_t kDefaultPort = 8000;
constexpr const char* kRdmaOff = "NCCL_IB_DISABLE";
constexpr size_t kLongestName = 40;  // of 63, so that "-0" and the like fit behind it

bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsLetter(char c) { return IsLower(c) || (c >= 'A' && c <= 'Z'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

Status Refuse(std::string_view option, std::string_view text, std::string message,
              std::string hint = "") {
  return Fail(ErrorCode::kUsage, fmt::format("{} {}", option, Printable(text)), std::move(message),
              std::move(hint));
}

Status CheckName(const std::string& name) {
  const bool plain = std::all_of(name.begin(), name.end(),
                                 [](char c) { return IsLower(c) || IsDigit(c) || c == '-'; });
  if (plain && name.size() <= kLongestName && IsLower(name[0]) && name.back() != '-') return {};
  return Refuse("--name", name,
                fmt::format("expected a DNS label of at most {} characters: lower-case letters, "
                            "digits and dashes, a letter first",
                            kLongestName));
}

// Lists and prefixes of interfaces and adapters: "bond0", "=mlx5_0:1,mlx5_1", "^mlx5_2".
Status CheckDevices(std::string_view option, const std::string& text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return IsLetter(c) || IsDigit(c) ||
           std::string_view(".:-_,=^@").find(c) != std::string_view::npos;
  });
  if (plain && text[0] != '-') return {};
  return Refuse(option, text, "expected names of devices, found other characters");
}

// Hosts and addresses as they are used: without brackets, and within the reach of other `nodes`.
Status ReadHosts(size_t nodes, LaunchSite* site) {
  for (std::string& host : site->hosts) {
    SHARDPLAN_ASSIGN_OR_RETURN(host, ReadHost("--host", host));
    if (nodes > 1) SHARDPLAN_RETURN_IF_ERROR(CheckReachable("--host", host));
  }
  if (!site->master_addr.empty()) {
    SHARDPLAN_ASSIGN_OR_RETURN(site->master_addr, ReadHost("--master-addr", site->master_addr));
    if (nodes > 1) {
      SHARDPLAN_RETURN_IF_ERROR(CheckReachable("--master-addr", site->master_addr));
    }
  }
  SHARDPLAN_ASSIGN_OR_RETURN(site->api_host, ReadHost("--api-host", site->api_host));
  return {};
}

Status CheckSite(const LaunchSite& site, size_t nodes) {
  if (!site.name.empty()) SHARDPLAN_RETURN_IF_ERROR(CheckName(site.name));
  if (!site.hosts.empty() && site.hosts.size() != nodes) {
    return Fail(
        ErrorCode::kUsage, "--host",
        fmt::format("expected one for each of {} nodes, found {}", nodes, site.hosts.size()),
        "give all of them, in the order of the nodes, or none");
  }
  for (const std::string& host : site.hosts) {
    if (std::count(site.hosts.begin(), site.hosts.end(), host) > 1) {
      return Refuse("--host", host, "expected another host for each node, found it twice");
    }
  }
  constexpr int64_t kLargestIndex = 255;
  if (site.gid_index.value_or(0) > kLargestIndex) {
    return Refuse("--ib-gid-index", std::to_string(*site.gid_index), "expected at most 255");
  }
  if (!site.socket_ifname.empty()) {
    SHARDPLAN_RETURN_IF_ERROR(CheckDevices("--socket-ifname", site.socket_ifname));
  }
  if (!site.ib_hca.empty()) SHARDPLAN_RETURN_IF_ERROR(CheckDevices("--ib-hca", site.ib_hca));
  if (!site.model_path.empty() && site.model_path[0] != '/') {
    return Refuse("--model-path", site.model_path, "expected an absolute path");
  }
  if (site.port > 65535) {
    return Refuse("--port", std::to_string(site.port), "expected at most 65,535");
  }
  return {};
}

std::vector<std::string> OneOrNone(const std::string& value) {
  return value.empty() ? std::vector<std::string>() : std::vector<std::string>{value};
}

std::vector<SiteVariable> NetworkVariables(const LaunchSite& site, const std::string& engine,
                                           bool rdma) {
  std::vector<SiteVariable> out;
  std::string master = site.master_addr;
  if (master.empty() && !site.hosts.empty()) master = site.hosts[0];
  out.push_back({"MASTER_ADDR", "address of node 0 on the network of the ranks", "10.0.0.1",
                 OneOrNone(master), false, false});
  const bool addresses =
      !site.hosts.empty() && std::all_of(site.hosts.begin(), site.hosts.end(), IsAddress);
  out.push_back({engine == "sglang" ? "SGLANG_HOST_IP" : "VLLM_HOST_IP",
                 "address of this node on the network of the ranks, another one on every node",
                 "10.0.0.2", addresses ? site.hosts : std::vector<std::string>(), true, true});
  for (const char* name : {"NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"}) {
    out.push_back({name, "network interface that has that address, as ip addr names it", "bond0",
                   OneOrNone(site.socket_ifname), false, true});
  }
  if (!rdma) return out;
  out.push_back({"NCCL_IB_HCA",
                 "adapters that carry the traffic of the ranks, as ibdev2netdev names them",
                 "mlx5_0,mlx5_1", OneOrNone(site.ib_hca), false, true});
  if (site.fabric == Fabric::kInfiniband) return out;
  out.push_back({"NCCL_IB_GID_INDEX",
                 "index of the RoCE v2 address of those adapters, as show_gids lists it", "3",
                 OneOrNone(site.gid_index ? std::to_string(*site.gid_index) : ""), false, true});
  return out;
}

bool TurnsRdmaOff(const LaunchPlan& launch) {
  return std::any_of(launch.env.begin(), launch.env.end(), [](const auto& variable) {
    return variable.first == kRdmaOff && variable.second == "1";
  });
}

// A flag's value in a command, written with a blank or "="; taken out of it.
std::optional<std::string> Take(std::vector<std::string>* argv, const std::string& flag) {
  std::optional<std::string> value;
  for (size_t i = 1; i < argv->size();) {
    const std::string& word = (*argv)[i];
    const auto at = argv->begin() + static_cast<std::ptrdiff_t>(i);
    if (word == flag && i + 1 < argv->size()) {
      value = (*argv)[i + 1];
      argv->erase(at, at + 2);
    } else if (word.starts_with(flag + "=")) {
      value = word.substr(flag.size() + 1);
      argv->erase(at);
    } else {
      ++i;
    }
  }
  return value;
}

bool IsIdentifier(const std::string& name) {
  return !name.empty() && !IsDigit(name[0]) && std::all_of(name.begin(), name.end(), [](char c) {
    return IsLetter(c) || IsDigit(c) || c == '_';
  });
}

// Where the model stands in a command: behind `vllm serve`, or behind --model-path.
std::string* ModelOf(std::vector<std::string>* argv) {
  const auto flag = std::find(argv->begin(), argv->end(), "--model-path");
  if (flag != argv->end() && flag + 1 != argv->end()) return &*(flag + 1);
  return argv->size() > 2 && (*argv)[1] == "serve" ? &(*argv)[2] : nullptr;
}

// Names that the scripts use themselves, and those that bash lets nobody set.
bool IsOfScripts(const std::string& name) {
  static constexpr std::array<std::string_view, 16> kNames = {
      "DRY_RUN",     "SHOWN",       "MODEL_PATH", "OPTIONS",  "HOST", "HOSTS",    "HERE", "NODES",
      "MASTER_HOST", "BASH_SOURCE", "RAY_PORT",   "BASHOPTS", "EUID", "FUNCNAME", "PPID", "UID"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end() || name == "SHELLOPTS" ||
         name == "IFS";
}

// The plan's variables; those that the place has to say become known by it.
Status TakeEnvironment(const LaunchPlan& plan, NodeLaunch* node,
                       std::vector<SiteVariable>* variables) {
  for (const auto& [name, value] : plan.env) {
    if (!IsIdentifier(name)) {
      return Refuse("--env", name, "expected a name of letters, digits and underscores");
    }
    if (IsOfScripts(name)) {
      return Refuse("--env", name,
                    "expected the name of a variable that the engine reads, found one that the "
                    "scripts use themselves",
                    "leave it out");
    }
    const auto known = std::find_if(variables->begin(), variables->end(),
                                    [&, n = &name](const SiteVariable& v) { return v.name == *n; });
    if (known == variables->end()) {
      node->env.emplace_back(name, value);
    } else if (!known->known() && !known->per_host) {  // one address is not that of all nodes
      known->values = {value};
    }
  }
  return {};
}

// The ports of a pasted command, where the plan's commands have some.
Status TakePorts(const LaunchSite& site, std::vector<std::string>* argv) {
  constexpr std::string_view kMaster = "<MASTER_ADDR>:";
  for (const auto& [flag, port] : site.ports) {
    const bool number = !port.empty() && port.size() <= 5 &&
                        std::all_of(port.begin(), port.end(), IsDigit) && std::stoll(port) > 0 &&
                        std::stoll(port) <= 65535;
    if (!number) return Refuse(flag, port, "expected a port from 1 to 65,535");
    for (size_t i = 0; i + 1 < argv->size(); ++i) {
      if ((*argv)[i] != flag) continue;
      std::string& value = (*argv)[i + 1];
      value = value.starts_with(kMaster) ? std::string(kMaster) + port : port;
    }
  }
  return {};
}

// Keys of the API that a pasted command had: the files ask for them, so that none is served without
// what the command meant. vLLM reads a variable; SGLang has a flag alone.
void TakeSecrets(const Plan& plan, const std::vector<std::string>& secrets, PreparedLaunch* out) {
  const auto had = [&](std::string_view name) {
    return std::find(secrets.begin(), secrets.end(), name) != secrets.end();
  };
  const auto ask = [&](const char* name, const char* what) {
    SiteVariable variable{name, what, "the output of openssl rand -hex 32", {}, false, true};
    variable.secret = true;
    out->variables.push_back(std::move(variable));
  };
  if (plan.engine != "sglang") {
    if (!had("--api-key") && !had("VLLM_API_KEY")) return;
    ask("VLLM_API_KEY", "key that clients have to send, as the pasted command had one");
    return;
  }
  const auto hand_on = [&](const char* flag, const char* variable, const char* what) {
    if (!had(flag)) return;
    ask(variable, what);
    out->variables.back().exported = false;
    for (NodeLaunch& node : out->nodes) {
      node.argv.insert(node.argv.end(), {flag, fmt::format("<{}>", variable)});
    }
  };
  hand_on("--api-key", "SGLANG_API_KEY",
          "key that clients have to send, as the pasted command had one");
  hand_on("--admin-api-key", "SGLANG_ADMIN_API_KEY",
          "key of the administration, as the pasted command had one");
}

void PlaceNode(const Plan& plan, NodeLaunch* node) {
  std::set<int64_t> stages;
  node->first_rank = node->node * plan.gpus_per_node;
  for (const RankPlan& rank : plan.ranks) {
    if (rank.place.node != node->node) continue;
    if (node->gpus == 0) node->first_rank = rank.place.rank;
    ++node->gpus;
    stages.insert(rank.place.stage);
  }
  if (node->gpus == 0) node->gpus = plan.gpus_per_node;
  node->stages.assign(stages.begin(), stages.end());
}

}  // namespace

const SiteVariable* PreparedLaunch::Find(std::string_view wanted) const {
  const auto found = std::find_if(variables.begin(), variables.end(),
                                  [&](const SiteVariable& v) { return v.name == wanted; });
  return found == variables.end() ? nullptr : &*found;
}

PreparedLaunch::Word PreparedLaunch::Split(const std::string& word) const {
  for (const SiteVariable& variable : variables) {
    const std::string placeholder = "<" + variable.name + ">";
    if (!word.starts_with(placeholder)) continue;
    std::string rest = word.substr(placeholder.size());
    const bool is_port =
        rest.size() > 1 && rest[0] == ':' && std::all_of(rest.begin() + 1, rest.end(), IsDigit);
    if (rest.empty() || is_port) return {&variable, std::move(rest)};
  }
  return {nullptr, word};
}

std::string VersionOf(const LaunchInput& input) {
  const std::string& asked = input.site.engine_version;
  return asked.empty() ? input.plan.engine_version : asked;
}

bool HasFlag(const std::vector<std::string>& argv, std::string_view flag) {
  return std::any_of(argv.begin(), argv.end(), [&](const std::string& word) {
    return word.starts_with(flag) && (word.size() == flag.size() || word[flag.size()] == '=');
  });
}

std::string DefaultName(const std::string& source) {
  std::string base = BaseName(source);
  if (base.ends_with(".json") || base.ends_with(".safetensors")) {
    base = BaseName(source.substr(0, source.size() - base.size()));
  }
  std::string name;
  for (const char c : base) {
    if (name.size() == kLongestName) break;
    if (IsLetter(c)) {
      name += static_cast<char>(c | 0x20);
    } else if (IsDigit(c) && !name.empty()) {
      name += c;
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  while (name.ends_with('-')) name.pop_back();
  return name.empty() ? "model" : name;
}

Result<PreparedLaunch> PrepareLaunch(const LaunchInput& input) {
  const Plan& plan = input.plan;
  if (plan.launch.empty()) {
    return Fail(ErrorCode::kUnsupported, Printable(plan.source),
                "expected a layout that the engine can start, found an illegal one",
                "see what `shardplan plan` says with the same options");
  }
  LaunchSite site = input.site;
  SHARDPLAN_RETURN_IF_ERROR(ReadHosts(plan.launch.size(), &site));
  SHARDPLAN_RETURN_IF_ERROR(CheckSite(site, plan.launch.size()));
  PreparedLaunch out;
  out.name = site.name.empty() ? DefaultName(plan.source) : site.name;
  out.engine = fmt::format("{} {}", plan.engine == "sglang" ? "SGLang" : "vLLM",
                           Printable(VersionOf(input)));
  out.port = site.port;
  out.api_host = site.api_host;
  if (plan.launch.size() > 1) {
    out.rdma = site.fabric != Fabric::kSocket && !TurnsRdmaOff(plan.launch[0]);
    out.variables = NetworkVariables(site, plan.engine, out.rdma);
    const SiteVariable* const own = &out.variables[1];
    if (!own->known()) out.host_names = site.hosts;
  }
  bool model_is_directory = false;
  for (const LaunchPlan& launch : plan.launch) {
    NodeLaunch node;
    node.node = launch.node;
    node.argv = launch.argv;
    PlaceNode(plan, &node);
    SHARDPLAN_RETURN_IF_ERROR(TakeEnvironment(launch, &node, &out.variables));
    SHARDPLAN_RETURN_IF_ERROR(TakePorts(site, &node.argv));
    if (site.fabric == Fabric::kSocket && plan.launch.size() > 1 && !TurnsRdmaOff(launch)) {
      node.env.emplace_back(kRdmaOff, "1");
    }
    if (std::string* const model = ModelOf(&node.argv)) {
      if (!site.model_path.empty() && *model == site.model_path) *model = "<MODEL_PATH>";
      model_is_directory = model_is_directory || *model == "<MODEL_PATH>";
    }
    node.serves_api =
        std::find(node.argv.begin(), node.argv.end(), "--headless") == node.argv.end() &&
        (plan.engine != "sglang" || node.node == 0);
    const auto host = Take(&node.argv, "--host");
    const auto port = Take(&node.argv, "--port");
    if (host && site.api_host == kDefaultApiHost) out.api_host = *host;
    if (port && site.port == kDefaultPort) {
      const bool digits =
          !port->empty() && port->size() <= 5 && std::all_of(port->begin(), port->end(), IsDigit);
      if (!digits) {
        return Fail(ErrorCode::kUsage, "--port " + Printable(*port), "expected a whole number");
      }
      out.port = std::stoll(*port);
    }
    out.tls = out.tls || HasFlag(node.argv, "--ssl-certfile");
    out.binds_master = out.binds_master || HasFlag(node.argv, "--data-parallel-address");
    out.nodes.push_back(std::move(node));
  }
  SHARDPLAN_ASSIGN_OR_RETURN(out.api_host, ReadHost("--host", out.api_host));
  for (NodeLaunch& node : out.nodes) {
    // vLLM's headless nodes have no API; SGLang's others answer health checks.
    if (!node.serves_api && plan.engine != "sglang") continue;
    for (std::string word :
         {std::string("--host"), out.api_host, std::string("--port"), std::to_string(out.port)}) {
      node.argv.push_back(std::move(word));
    }
  }
  TakeSecrets(plan, site.secrets, &out);
  if (model_is_directory) {
    out.variables.insert(out.variables.begin(),
                         {"MODEL_PATH", "directory of the checkpoint on the nodes, absolute",
                          "/models/" + out.name, OneOrNone(site.model_path), false, false});
  }
  return out;
}

std::string ModelOfObject(const std::string& json) {
  const auto object = nlohmann::json::parse(json, nullptr, false);
  const bool names = object.is_object() && object.contains("model") && object["model"].is_string();
  return names ? object["model"].get<std::string>() : "";
}

Error DraftNotMounted(const std::string& path) {
  return {ErrorCode::kUsage, "--mount",
          fmt::format("expected the draft model's directory, found that {} is not mounted",
                      Printable(path)),
          "give --mount DIR"};
}

}  // namespace shardplan
