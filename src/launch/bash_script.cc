#include "launch/bash_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "shardplan/base/file.h"
#include "shardplan/launch/shell.h"

namespace shardplan {
namespace {

// Stops, tells what a dry run would do, asks for what is not known.
constexpr const char* kFunctions = R"(
fail() {
  echo "$(basename -- "$0"): $1" >&2
  exit 1
}

DRY_RUN=
if [[ $# -gt 1 || ($# -eq 1 && $1 != --dry-run) ]]; then
  fail "expected --dry-run or nothing, found $*"
elif [[ $# -eq 1 ]]; then
  DRY_RUN=yes
fi

# need NAME WHAT: stops where the variable is not set; a dry run tells and goes on.
need() {
  if [[ -n ${!1-} ]]; then return 0; fi
  if [[ -z $DRY_RUN ]]; then fail "$1 is not set: $2"; fi
  echo "$(basename -- "$0"): $1 is not set: $2" >&2
  printf -v "$1" '<%s>' "$1"
}

# show COMMAND…: the environment and the command, ready to paste.
show() {
  local name
  for name in ${SHOWN[@]+"${SHOWN[@]}"}; do
    if [[ -v $name ]]; then printf '%s=%q ' "$name" "${!name}"; fi
  done
  printf '%q' "$1"
  shift
  if [[ $# -gt 0 ]]; then printf ' %q' "$@"; fi
  echo
}
)";

constexpr const char* kAddressOf = R"(
# address_of HOST [OWN]: its address; OWN where the name is this node's own, which its hosts file
# may give to the loopback.
address_of() {
  local address=
  read -r address _ < <(getent ahostsv4 "$1" || getent ahostsv6 "$1") || true
  if [[ $address == 127.* || $address == ::1 ]]; then address=${2-}; fi
  echo "$address"
}
)";

constexpr const char* kMasterAddress = R"(
# The engine binds node 0's address, and cannot bind a name.
if [[ $MASTER_ADDR == *[!0-9.]* && $MASTER_ADDR != *:* && $MASTER_ADDR != '<'*'>' ]]; then
  address=$(address_of "$MASTER_ADDR" "$@HOST_IP@")
  if [[ -n $address ]]; then
    MASTER_ADDR=$address
  elif [[ -z $DRY_RUN ]]; then
    fail "$MASTER_ADDR: no address of that host is known here: set MASTER_ADDR"
  fi
fi
)";

constexpr const char* kAddressOfInterface = R"(
# The address that an interface has.
address_of_interface() {
  local address=
  read -r _ _ _ address _ < <(
    ip -4 -o addr show dev "$1" 2> /dev/null
    ip -6 -o addr show dev "$1" scope global 2> /dev/null
  ) || true
  echo "${address%%/*}"
}
)";

std::string Joined(const std::vector<int64_t>& numbers) {
  return fmt::format("{}", fmt::join(numbers, ", "));
}

// What a value of the place is set from, of one node or of all.
std::string Assignment(const SiteVariable& variable, const std::string& value) {
  return fmt::format("{}={}\n", variable.name, ShellQuote(value));
}

std::string Need(const SiteVariable& variable) {
  return fmt::format("need {} {}\n", variable.name,
                     ShellQuote(fmt::format("{}, such as {}", variable.what, variable.example)));
}

const SiteVariable* HostVariable(const PreparedLaunch& launch) {
  const auto found = std::find_if(launch.variables.begin(), launch.variables.end(),
                                  [](const SiteVariable& v) { return v.per_host; });
  return found == launch.variables.end() ? nullptr : &*found;
}

// In front of a port; brackets that were given are not given twice.
constexpr const char* kMasterHost = R"(
# In front of a port an IPv6 address stands in brackets.
MASTER_ADDR=${MASTER_ADDR#[}
MASTER_ADDR=${MASTER_ADDR%]}
MASTER_HOST=$MASTER_ADDR
if [[ $MASTER_HOST == *:* ]]; then MASTER_HOST="[$MASTER_HOST]"; fi
)";

bool MasterMayBeIpv6(const PreparedLaunch& launch) {
  const SiteVariable* const master = launch.Find("MASTER_ADDR");
  return master != nullptr && (!master->known() || IsIpv6(master->values[0]));
}

// Whether a command has node 0's address in front of a port.
bool HasMasterWithPort(const PreparedLaunch& launch) {
  return std::any_of(launch.nodes.begin(), launch.nodes.end(), [&](const NodeLaunch& node) {
    return std::any_of(node.argv.begin(), node.argv.end(), [&](const std::string& word) {
      const PreparedLaunch::Word split = launch.Split(word);
      return split.variable != nullptr && !split.text.empty();
    });
  });
}

bool MasterMayBeName(const PreparedLaunch& launch) {
  const SiteVariable* const master = launch.Find("MASTER_ADDR");
  return master != nullptr && (!master->known() || !IsAddress(master->values[0]));
}

}  // namespace

std::string BashElement(const std::string& word) {
  std::string quoted = ShellQuote(word);
  return quoted == word && word.find(',') != word.npos ? "'" + word + "'" : quoted;
}

std::string BashWord(const PreparedLaunch& launch, const std::string& word) {
  const PreparedLaunch::Word split = launch.Split(word);
  if (split.variable == nullptr) return BashElement(word);
  const bool before_port = split.variable->name == "MASTER_ADDR" && !split.text.empty();
  return fmt::format(
      "\"{}{}\"", before_port ? MasterBeforePort(launch) : "$" + split.variable->name, split.text);
}

std::string MasterBeforePort(const PreparedLaunch& launch) {
  return MasterMayBeIpv6(launch) ? "$MASTER_HOST" : "$MASTER_ADDR";
}

std::string BashWords(const PreparedLaunch& launch, const std::vector<ArgumentGroup>& groups,
                      int indent) {
  std::string out;
  for (const ArgumentGroup& group : groups) {
    out.append(static_cast<size_t>(indent), ' ');
    for (size_t i = 0; i < group.size(); ++i) {
      out += (i == 0 ? "" : " ") + BashWord(launch, group[i]);
    }
    out += '\n';
  }
  return out;
}

std::string OwnArguments(const Factored<ArgumentGroup>& arguments) {
  const bool any = std::any_of(arguments.rest.begin(), arguments.rest.end(),
                               [](const std::vector<ArgumentGroup>& own) { return !own.empty(); });
  return any ? "    \"$@\"\n" : "";
}

std::string BashExports(const std::vector<std::pair<std::string, std::string>>& env) {
  std::string out;
  for (const auto& [name, value] : env) {
    out += fmt::format("export {}={}\n", name, ShellQuote(value));
  }
  return out;
}

std::string CommonHead(const std::string& purpose, const PreparedLaunch& launch) {
  return fmt::format("# {}: {} on {}. README.md tells more.\n# shellcheck shell=bash\n", purpose,
                     launch.name, launch.engine) +
         kFunctions;
}

std::string SiteSection(const PreparedLaunch& launch, const SiteSectionOptions& options) {
  if (launch.variables.empty()) return "";
  const SiteVariable* const host = HostVariable(launch);
  std::string out;
  const bool resolves_master = launch.binds_master && host != nullptr && MasterMayBeName(launch);
  if (!launch.host_names.empty() || resolves_master) out += kAddressOf;
  if (options.from_interface && host != nullptr) out += kAddressOfInterface;
  out += "\n# Of this place.\n";
  for (const SiteVariable& variable : launch.variables) {
    if (!variable.per_host && variable.known()) out += Assignment(variable, variable.values[0]);
  }
  for (const SiteVariable& variable : launch.variables) {
    if (!variable.per_host && !variable.known()) out += Need(variable);
  }
  for (const SiteVariable& variable : launch.variables) {
    if (!variable.secret) continue;
    out += fmt::format("if [[ -n $DRY_RUN ]]; then {0}='<{0}>'; fi  # a dry run prints no key\n",
                       variable.name);
  }
  // A node's address comes last: it may follow from the others.
  if (host != nullptr && !host->known()) {
    const std::string missing = fmt::format("if [[ -z ${{{}-}} ]]; then ", host->name);
    if (!launch.host_names.empty()) {
      out += missing + fmt::format("{}=$(address_of \"$HOST\"); fi\n", host->name);
    }
    if (options.from_interface) {
      out +=
          missing + fmt::format("{}=$(address_of_interface \"${{GLOO_SOCKET_IFNAME%%,*}}\"); fi\n",
                                host->name);
    }
    out += Need(*host);
  }
  if (resolves_master) {
    std::string text = kMasterAddress;
    constexpr std::string_view kPlace = "@HOST_IP@";
    text.replace(text.find(kPlace), kPlace.size(), host->name);
    out += text;
  }
  const bool before_port = options.master_before_port || HasMasterWithPort(launch);
  if (before_port && MasterMayBeIpv6(launch)) out += kMasterHost;
  std::string exported;
  for (const SiteVariable& variable : launch.variables) {
    if (variable.exported) exported += " " + variable.name;
  }
  if (!exported.empty()) out += "export" + exported + "\n";
  return out;
}

std::string CheckFunction(const PreparedLaunch& launch,
                          const std::vector<std::pair<std::string, std::string>>& programs,
                          const std::vector<std::string>& more_lines) {
  std::string out = "\n# What must be there before anything starts.\ncheck() {\n";
  for (const auto& [program, help] : programs) {
    out += fmt::format("  command -v {} > /dev/null || fail {}\n", ShellQuote(program),
                       ShellQuote(Printable(program) + ": not found; " + help));
  }
  if (launch.Find("MODEL_PATH") != nullptr) {
    out +=
        "  [[ $MODEL_PATH == /* ]] || fail \"$MODEL_PATH: expected an absolute path "
        "(MODEL_PATH)\"\n"
        "  [[ -f $MODEL_PATH/config.json ]] ||\n"
        "    fail \"$MODEL_PATH: no config.json there: the checkpoint is not on this node\"\n";
  }
  int64_t gpus = 0;
  for (const NodeLaunch& node : launch.nodes) gpus = std::max(gpus, node.gpus);
  out += fmt::format(
      "  local gpus list\n"
      "  if [[ -v CUDA_VISIBLE_DEVICES ]]; then\n"
      "    IFS=, read -ra gpus <<< \"$CUDA_VISIBLE_DEVICES\"\n"
      "    # CUDA sees those in front of the first that is none.\n"
      "    for list in \"${{!gpus[@]}}\"; do\n"
      "      if [[ ${{gpus[list]}} == -* ]]; then gpus=(\"${{gpus[@]:0:list}}\"); break; fi\n"
      "    done\n"
      "  else\n"
      "    list=$(nvidia-smi --query-gpu=index --format=csv,noheader) ||\n"
      "      fail \"nvidia-smi cannot list the GPUs${{list:+: $list}}\"\n"
      "    mapfile -t gpus < <(printf '%s' \"$list\")\n"
      "  fi\n"
      "  [[ ${{#gpus[@]}} -ge {0} ]] || fail \"${{#gpus[@]}} GPUs are visible, {0} are needed\"\n",
      gpus);
  if (launch.multi_node()) {
    out +=
        "  local interface interfaces\n"
        "  IFS=, read -ra interfaces <<< \"$GLOO_SOCKET_IFNAME\"\n"
        "  for interface in \"${interfaces[@]}\"; do\n"
        "    [[ -e /sys/class/net/$interface ]] ||\n"
        "      fail \"$interface: no such interface on this node (GLOO_SOCKET_IFNAME)\"\n"
        "  done\n";
  }
  for (const std::string& line : more_lines) out += "  " + line + "\n";
  return out + "}\n";
}

std::string ShownNames(const PreparedLaunch& launch) {
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const NodeLaunch& node : launch.nodes) {
    for (const auto& variable : node.env) {
      if (seen.insert(variable.first).second) names.push_back(variable.first);
    }
  }
  for (const SiteVariable& variable : launch.variables) {
    if (variable.exported) names.push_back(variable.name);
  }
  return fmt::format("\nSHOWN=({})\n", fmt::join(names, " "));
}

std::string DescribeNode(const PreparedLaunch& launch, size_t node) {
  const NodeLaunch& n = launch.nodes[node];
  const int64_t last = n.first_rank + n.gpus - 1;
  std::string out = fmt::format("Node {} of {}, ", n.node, launch.nodes.size());
  out += n.gpus == 1 ? fmt::format("rank {}", last)
                     : fmt::format("ranks {} to {}", n.first_rank, last);
  if (n.stages.empty()) return out;
  return out + (n.stages.size() == 1 ? ", stage " : ", stages ") + Joined(n.stages);
}

std::string NodeHead(const PreparedLaunch& launch, size_t node,
                     const std::vector<std::pair<std::string, std::string>>& env) {
  std::string out = fmt::format(
      "#!/usr/bin/env bash\n# {} of {}. With --dry-run it prints what it would run.\n"
      "set -euo pipefail\n\n",
      DescribeNode(launch, node), launch.name);
  if (!launch.host_names.empty()) {
    out += fmt::format("export HOST={}\n", ShellQuote(launch.host_names[node]));
  }
  for (const SiteVariable& variable : launch.variables) {
    if (!variable.per_host || !variable.known()) continue;
    out += "export " + Assignment(variable, variable.ValueOf(static_cast<int64_t>(node)));
  }
  out += BashExports(env);
  return out +
         "# shellcheck source-path=SCRIPTDIR source=common.sh disable=SC1091\nsource \"$(dirname "
         "-- "
         "\"${BASH_SOURCE[0]}\")/common.sh\"\n";
}

std::vector<std::vector<std::pair<std::string, std::string>>> Environments(
    const PreparedLaunch& launch) {
  std::vector<std::vector<std::pair<std::string, std::string>>> out;
  for (const NodeLaunch& node : launch.nodes) out.push_back(node.env);
  return out;
}

}  // namespace shardplan
