#include "launch/kubernetes/scripts.h"

#include <fmt/format.h>

#include <cstdint>
#include <map>

#include "shardplan/base/file.h"
#include "shardplan/base/units.h"
#include "shardplan/launch/shell.h"

namespace shardplan::kubernetes {
namespace {

// A ConfigMap holds 1 MiB at most; the rest is left to its other fields.
constexpr size_t kLargestConfigMap = 900 * 1024;

std::string EngineName(const Plan& plan) {
  return (plan.engine == "sglang" ? "SGLang " : "vLLM ") + plan.engine_version;
}

// Sets `rank` to the node's number. A StatefulSet's ordinal ends the pod's name (the host's name is
// another one on the host's network); the workers' count from 1.
std::string RankLines(const Facts& facts) {
  const std::string given = facts.is_lws() ? "LWS_WORKER_INDEX" : "POD_NAME";
  const std::string value = facts.is_lws() ? "${LWS_WORKER_INDEX:-}" : "${POD_NAME##*-}";
  std::string out = "rank=" + value + "\n";
  if (!facts.is_lws()) out = "POD_NAME=${POD_NAME:-}\n" + out;
  out += "case $rank in\n";
  out += "  '' | *[!0-9]* | 0?* | ??????*) fail \"expected the number of this node in " + given +
         ", found '$rank'\" ;;\n";
  out += "esac\n";
  out += fmt::format("[ \"$rank\" -lt {} ] || fail \"expected a node below {}, found $rank\"\n",
                     facts.nodes, facts.nodes);
  return out;
}

std::string FailLines(const std::string& script) {
  return "fail() {\n  printf '" + script + ": %s\\n' \"$1\" >&2\n  exit 64\n}\n";
}

// Sets `master` to node 0's address. It is its own address there, since ZeroMQ binds no name
// (kserve/kserve#5155), and a name on the others, which connect: an address of a pod that was
// replaced would stay wrong.
std::string MasterLines(const Facts& facts) {
  const bool brackets = facts.input->plan.engine == "sglang";
  std::string out = "if [ \"$rank\" -eq 0 ]; then\n";
  out += "  master=${POD_IP:-}\n";
  if (brackets) out += "  case $master in *:*) master=\"[$master]\" ;; esac\n";
  out += "else\n";
  if (facts.is_lws()) {
    out += "  master=${LWS_LEADER_ADDRESS:-}\n";
  } else {
    out += fmt::format("  master={}-0.{}.${{POD_NAMESPACE:-}}.svc\n", facts.name,
                       facts.headless_service());
  }
  out +=
      "fi\n"
      "[ -n \"$master\" ] || fail \"the address of node 0 is not set\"\n"
      "# Its name appears when its pod has an address.\n"
      "if [ \"$rank\" -gt 0 ] && command -v getent > /dev/null; then\n"
      "  tries=0\n"
      "  until getent hosts \"$master\" > /dev/null; do\n"
      "    tries=$((tries + 1))\n"
      "    [ \"$tries\" -lt 300 ] || fail \"$master has no address after 10 minutes\"\n"
      "    sleep 2\n"
      "  done\n"
      "fi\n";
  return out;
}

std::string Written(const GroupWord& word) {
  switch (word.kind) {
    case GroupWord::Kind::kRank:
      return "\"$rank\"";
    case GroupWord::Kind::kStartRank:
      return fmt::format("\"$((rank * {}))\"", word.factor);
    case GroupWord::Kind::kMaster:
      return "\"$master" + word.text + "\"";
    default:
      break;
  }
  return word.workers_only ? "\"${workers[@]}\"" : ShellQuote(word.text);
}

bool BeginsLine(const GroupWord& word) {
  const std::string& text = word.text;
  return word.workers_only || (word.kind == GroupWord::Kind::kText && text.size() > 1 &&
                               text[0] == '-' && (text[1] < '0' || text[1] > '9'));
}

// One flag with its values a line.
std::string CommandLines(const GroupCommand& command) {
  std::string out = "exec";
  for (size_t i = 0; i < command.words.size(); ++i) {
    out += i > 1 && BeginsLine(command.words[i]) ? " \\\n  " : " ";
    out += Written(command.words[i]);
  }
  return out;
}

bool HasWorkerWords(const GroupCommand& command) {
  for (const GroupWord& word : command.words) {
    if (word.workers_only) return true;
  }
  return false;
}

}  // namespace

std::string MakeStartScript(const Facts& facts) {
  const std::string host = facts.bind.empty() ? "\"$POD_IP\"" : facts.bind;
  std::string api = fmt::format("--host {} --port {}", host, facts.port);
  // SGLang reads its key from an argument alone. Other nodes have none, and serve nothing.
  if (!facts.options->api_key_secret.empty() && facts.input->plan.engine == "sglang") {
    api += fmt::format(" --api-key \"${{{}-}}\"", facts.api_key_variable());
  }
  std::string out = "#!/usr/bin/env bash\n";
  const std::string engine = EngineName(facts.input->plan);
  if (facts.nodes == 1) {
    out += "# Starts " + engine + ".\nset -euo pipefail\n\n";
    return out + CommandLines(facts.command) + " \\\n  " + api + "\n";
  }
  out += fmt::format(
      "# Starts {} on one of {} nodes. The node's number and node 0's address come from the pod;\n"
      "# everything else is the same on all of them.\n"
      "set -euo pipefail\n\n",
      engine, facts.nodes);
  out += FailLines("start.sh") + "\n" + RankLines(facts);
  if (facts.is_lws()) {
    out += fmt::format(
        "[ \"${{LWS_GROUP_SIZE:-{}}}\" = {} ] || fail \"the plan has {} nodes, the group "
        "$LWS_GROUP_SIZE\"\n",
        facts.nodes, facts.nodes, facts.nodes);
  }
  out += "\n" + MasterLines(facts);
  // Node 0 serves; the others take their work from it.
  out += "\nserver=(" + api + ")\n";
  const bool workers = HasWorkerWords(facts.command);
  if (workers) out += "workers=()\n";
  out += "if [ \"$rank\" -gt 0 ]; then\n  server=()\n";
  if (workers) out += "  workers=(--headless)\n";
  out += "fi\n\n";
  return out + CommandLines(facts.command) + " \\\n  \"${server[@]}\"\n";
}

namespace {

// "SIZE NAME" of every shard file that a node loads.
Result<std::string> ListOf(const FilesPlan& files, const std::map<std::string, Bytes>& sizes) {
  std::string out;
  for (const std::string& name : files.needed_shards) {
    if (Printable(name, 4 * name.size() + 4) != name) {
      return Fail(ErrorCode::kUnsupported, Printable(name),
                  "expected a file name without control characters", "rename the file");
    }
    const auto size = sizes.find(name);
    if (size == sizes.end()) {
      return Fail(ErrorCode::kInternal, Printable(name), "a shard without a size");
    }
    out += fmt::format("{} {}\n", size->second.count(), name);
  }
  return out;
}

// Which list each node reads; nodes with the same files share one.
struct Lists {
  std::vector<std::pair<std::string, std::string>> files;  // name and text
  std::vector<std::string> of_node;
};

Result<Lists> MakeLists(const Facts& facts) {
  std::map<std::string, Bytes> sizes;
  for (const ShardInfo& shard : facts.input->model.inventory.shards) {
    sizes[shard.name] = shard.file_bytes;
  }
  Lists lists;
  std::map<std::string, std::string> known;
  for (const FilesPlan& plan : facts.input->plan.files) {
    SHARDPLAN_ASSIGN_OR_RETURN(std::string text, ListOf(plan, sizes));
    const auto [at, is_new] = known.emplace(text, fmt::format("files-{}.txt", plan.node));
    if (is_new) lists.files.emplace_back(at->second, std::move(text));
    lists.of_node.push_back(at->second);
  }
  return lists;
}

// "case $rank in" with a line a list.
std::string ListLines(const Lists& lists) {
  if (lists.files.size() == 1) return "list='" + lists.files.front().first + "'\n";
  std::string out = "case $rank in\n";
  for (const auto& [name, text] : lists.files) {
    std::string nodes;
    for (size_t node = 0; node < lists.of_node.size(); ++node) {
      if (lists.of_node[node] != name) continue;
      nodes += (nodes.empty() ? "" : " | ") + std::to_string(node);
    }
    out += "  " + nodes + ") list='" + name + "' ;;\n";
  }
  return out + "  *) fail \"no list of files for node $rank\" ;;\nesac\n";
}

std::string LoopLines() {
  return "while IFS= read -r line; do\n"
         "  size=${line%% *}\n"
         "  name=${line#* }\n"
         "  files=$((files + 1))\n"
         "  if [ ! -f \"$model/$name\" ]; then\n"
         "    complain \"$name is missing\"\n"
         "  else\n"
         "    found=$(stat -L -c %s \"$model/$name\")\n"
         "    [ \"$found\" = \"$size\" ] || complain \"$name: expected $size bytes, found "
         "$found\"\n"
         "  fi\n"
         "done < \"${0%/*}/$list\"\n";
}

std::string Present(const std::string& name, const std::string& why) {
  return "[ -f \"$model\"/" + ShellQuote(name) + " ] || complain " +
         ShellQuote(name + " is missing" + why) + "\n";
}

}  // namespace

Result<std::vector<std::pair<std::string, std::string>>> MakeVerifyFiles(const Facts& facts) {
  SHARDPLAN_ASSIGN_OR_RETURN(Lists lists, MakeLists(facts));
  const Inventory& inventory = facts.input->model.inventory;
  std::string out =
      "#!/bin/sh\n# Checks that what this node loads is there and whole.\nset -eu\n\n";
  out += FailLines("verify.sh") + "\nmodel=" + ShellQuote(facts.model) + "\n";
  if (lists.files.size() > 1) out += RankLines(facts);
  if (!lists.files.empty()) out += ListLines(lists);
  if (!lists.files.empty()) out += "\nfiles=0";
  out +=
      "\nwrong=0\n"
      "complain() {\n"
      "  wrong=$((wrong + 1))\n"
      "  [ \"$wrong\" -gt 20 ] || printf 'verify.sh: %s\\n' \"$1\" >&2\n"
      "}\n\n";
  const std::string& marker = facts.options->completion_marker;
  if (!marker.empty()) out += Present(marker, ": the copy is not complete");
  if (!inventory.config_path.empty()) out += Present("config.json", "");
  if (inventory.has_index) out += Present("model.safetensors.index.json", "");
  if (lists.files.empty()) {
    out += "# The plan was made without shard headers: which files there are is not known.\n";
  } else {
    out += LoopLines();
  }
  // A pod that ends at once is made anew at once, with its whole group.
  out +=
      "\nif [ \"$wrong\" -gt 0 ]; then\n"
      "  printf 'verify.sh: %s files are not as planned in %s\\n' \"$wrong\" \"$model\" >&2\n"
      "  sleep 60\n"
      "  exit 1\n"
      "fi\n";
  out += lists.files.empty()
             ? "echo 'verify.sh: the config is there; shard files were not looked for'\n"
             : "echo \"verify.sh: $files shard files are there and whole\"\n";
  std::vector<std::pair<std::string, std::string>> all = {{"verify.sh", std::move(out)}};
  for (auto& list : lists.files) all.push_back(std::move(list));
  return all;
}

Result<std::vector<std::pair<std::string, std::string>>> MakeScripts(const Facts& facts) {
  SHARDPLAN_ASSIGN_OR_RETURN(auto scripts, MakeVerifyFiles(facts));
  scripts.insert(scripts.begin() + 1, {"start.sh", MakeStartScript(facts)});
  size_t bytes = 0;
  for (const auto& [name, text] : scripts) bytes += name.size() + text.size();
  if (bytes > kLargestConfigMap) {
    return Fail(ErrorCode::kUnsupported, Printable(facts.input->plan.source),
                fmt::format("expected lists of files that a ConfigMap can hold (900 KiB), found {}",
                            FormatBytes(Bytes(static_cast<int64_t>(bytes)))),
                "use `shardplan launch commands`");
  }
  return scripts;
}

std::string HashOf(const std::vector<std::pair<std::string, std::string>>& scripts) {
  uint64_t hash = 14'695'981'039'346'656'037U;
  const auto add = [&](const std::string& text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1'099'511'628'211U;
    hash = (hash ^ 0xffU) * 1'099'511'628'211U;  // where one ends
  };
  for (const auto& [name, text] : scripts) {
    add(name);
    add(text);
  }
  return fmt::format("{:016x}", hash);
}

}  // namespace shardplan::kubernetes
