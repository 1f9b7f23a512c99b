#include "launch/file_lists.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "launch/stage_cut.h"
#include "shardplan/base/file.h"
#include "shardplan/launch/shell.h"

namespace shardplan {
namespace {

struct OtherFiles {
  std::vector<std::string> names;  // sorted
  Bytes bytes;
};

// Ends of the names of weights; a node's shards are listed one by one.
constexpr std::array<std::string_view, 8> kWeights = {".gguf", ".onnx", ".h5",  ".msgpack",
                                                      ".pt",   ".pth",  ".bin", ".safetensors"};
// And of what download tools leave.
constexpr std::array<std::string_view, 4> kParts = {".part", ".incomplete", ".aria2",
                                                    ".crdownload"};

// Not what a node needs beside its shards.
bool IsUnwanted(std::string_view name) {
  const auto ends = [&](std::string_view suffix) { return name.ends_with(suffix); };
  return name.starts_with('.') || std::any_of(kWeights.begin(), kWeights.end(), ends) ||
         std::any_of(kParts.begin(), kParts.end(), ends);
}

// Configs, tokenizer, code, licence: every plain file beside the weights.
Result<OtherFiles> FindOthers(const std::string& directory) {
  SHARDPLAN_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(directory));
  OtherFiles out;
  for (const std::string& name : names) {
    struct stat info = {};
    if (IsUnwanted(name) || ::stat(JoinPath(directory, name).c_str(), &info) != 0) continue;
    if (!S_ISREG(info.st_mode)) continue;
    out.names.push_back(name);
    out.bytes += Bytes(info.st_size);
  }
  return out;
}

// One name a line. rsync takes lines that begin with "#" or ";" for comments.
Result<std::string> Lines(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) {
    if (name.find_first_of("\r\n") != std::string::npos) {
      return Fail(ErrorCode::kInvalidInput, Printable(name),
                  "expected a file name of one line, found a line break in it",
                  "rename the file, or copy the whole directory");
    }
    if (name.starts_with('#') || name.starts_with(';')) out += "./";
    out += name + "\n";
  }
  return out;
}

// A pattern crosses slashes: "*.pth" holds for original/ as well. Newer versions of the tool take
// one pattern an option; older ones, which took a list, keep the last option alone, so the shards'
// comes last. Source: huggingface_hub/cli/download.py (002a326f).
std::string Excludes() {
  std::string out;
  for (const std::string_view suffix : kWeights) {
    out += fmt::format(" --exclude '*{}'", suffix);
  }
  return out;
}

// Names, not patterns: they are taken literally, and --include means one pattern in newer versions
// of the tool and a list of them in older ones.
std::string DownloadScript(const HubSource& hub, const std::string& directory,
                           const std::vector<std::string>& shards) {
  std::string common = "--local-dir \"$dir\"";
  if (!hub.revision.empty()) common += " --revision " + ShellQuote(hub.revision);
  std::string out =
      "#!/usr/bin/env bash\n"
      "# Fetches what this node needs; run it again to go on. Takes the directory as an argument.\n"
      "set -euo pipefail\n\n";
  if (directory.empty()) {
    out += "dir=${1:?expected the directory of the model as an argument}\n\n";
  } else {
    out += "default=" + ShellQuote(directory) + "\ndir=${1:-$default}\n\n";
  }
  out += "# Configs, tokenizer and code: everything but weights, in whatever format.\n";
  out += fmt::format("hf download {}{} -- {}\n\n", common, Excludes(), ShellQuote(hub.repo));
  out += "# The node's shards.\n";
  out += fmt::format("hf download {} -- {}", common, ShellQuote(hub.repo));
  for (const std::string& shard : shards) out += " \\\n  " + ShellQuote(shard);
  return out + "\n";
}

// Where the model lies on every node; empty where nothing says so.
std::string DirectoryOf(const LaunchInput& input) {
  const std::string& given = input.site.model_path;
  const std::string& directory = given.empty() ? input.model.inventory.directory : given;
  return directory.starts_with('/') ? directory : "";
}

std::string HostOf(const LaunchSite& site, int64_t node) {
  const auto index = static_cast<size_t>(node);
  return index < site.hosts.size() ? site.hosts[index] : fmt::format("<HOST_{}>", node);
}

std::string Guide(const LaunchInput& input, const HubSource& hub, const OtherFiles& others) {
  const Plan& plan = input.plan;
  const std::string known = DirectoryOf(input);
  const std::string directory = known.empty() ? "<MODEL_PATH>" : known;
  std::string out = "# Files of each node\n\n";
  out += MarkdownRow({"node", "stages", "shards", "other files", "bytes"});
  out += MarkdownRow({"---:", "---", "---:", "---:", "---:"});
  Bytes total;
  for (const FilesPlan& files : plan.files) {
    std::set<int64_t> stages;
    for (const RankPlan& rank : plan.ranks) {
      if (rank.place.node == files.node) stages.insert(rank.place.stage);
    }
    total += files.bytes + others.bytes;
    out +=
        MarkdownRow({fmt::format("{}", files.node), NumbersText({stages.begin(), stages.end()}),
                     fmt::format("{}", files.shards.size()), fmt::format("{}", others.names.size()),
                     SizeText(files.bytes + others.bytes)});
  }
  out +=
      fmt::format("\n{} over all nodes; the checkpoint has {} in {} shards.\n", SizeText(total),
                  SizeText(input.model.inventory.file_bytes), input.model.inventory.shards.size());
  if (plan.sizes.pp > 1) {
    out +=
        "A node without all shards needs its stage's index over the model's own, which names them "
        "all:\n`shardplan launch stage-index` writes it.\n";
  }
  const std::string from = JoinPath(input.model.inventory.directory, "");
  out += "\nFrom here to the nodes, links followed:\n";
  for (const FilesPlan& files : plan.files) {
    out += fmt::format("\n    rsync -aLs --partial --files-from=node-{}.files {} {}\n", files.node,
                       ShellQuote(from.starts_with('-') ? "./" + from : from),
                       ShellQuote(HostOf(input.site, files.node) + ":" + JoinPath(directory, "")));
  }
  if (hub.repo.empty()) {
    out += "\nWith --repo OWNER/NAME there are scripts as well that fetch them from the hub.\n";
  } else {
    out += fmt::format("\nOr on each node from the hub, from {}:\n", ShellQuote(hub.repo));
    for (const FilesPlan& files : plan.files) {
      out += fmt::format("\n    ./node-{}.download.sh {}\n", files.node, ShellQuote(directory));
    }
  }
  return out;
}

}  // namespace

bool IsRepoId(const std::string& text) {
  const size_t slash = text.find('/');
  if (slash == std::string::npos || slash == 0 || slash + 1 == text.size()) return false;
  if (text.find('/', slash + 1) != std::string::npos || text.size() > 200) return false;
  constexpr std::string_view kFirst =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  const std::string rest = std::string(kFirst) + "-_./";
  return kFirst.find(text[0]) != std::string_view::npos &&
         kFirst.find(text[slash + 1]) != std::string_view::npos &&
         text.find_first_not_of(rest) == std::string::npos && text.find("..") == std::string::npos;
}

std::string RepoOf(const LaunchInput& input) {
  if (input.plan.launch.empty()) return "";
  const std::vector<std::string>& argv = input.plan.launch.front().argv;
  for (size_t i = 0; i + 1 < argv.size(); ++i) {
    if (argv[i] != "serve" && argv[i] != "--model-path" && argv[i] != "--model") continue;
    // The directory that was planned from may look like one.
    const std::string& served = argv[i + 1];
    return IsRepoId(served) && served != input.model.inventory.directory ? served : "";
  }
  return "";
}

Result<Bundle> MakeFileLists(const LaunchInput& input, const HubSource& hub) {
  if (!hub.repo.empty() && !IsRepoId(hub.repo)) {
    return Fail(ErrorCode::kUsage, "--repo " + Printable(hub.repo),
                "expected a repository of the hub as OWNER/NAME");
  }
  const Inventory& inventory = input.model.inventory;
  if (input.model.shard_use.empty()) {
    return Fail(ErrorCode::kInvalidInput, Printable(input.model.source),
                "expected a checkpoint with all its shards, whose headers say which file a node "
                "needs, found none",
                "give the model's directory; sparse files of `shardplan standin` will do");
  }
  SHARDPLAN_ASSIGN_OR_RETURN(const OtherFiles others, FindOthers(inventory.directory));
  const std::string directory = DirectoryOf(input);
  Bundle bundle;
  for (const FilesPlan& files : input.plan.files) {
    std::vector<std::string> names = files.shards;
    names.insert(names.end(), others.names.begin(), others.names.end());
    SHARDPLAN_ASSIGN_OR_RETURN(std::string lines, Lines(names));
    bundle.files.push_back({fmt::format("node-{}.files", files.node), std::move(lines), false});
    if (hub.repo.empty()) continue;
    bundle.files.push_back({fmt::format("node-{}.download.sh", files.node),
                            DownloadScript(hub, directory, files.shards), true});
  }
  bundle.files.push_back({"FILES.md", Guide(input, hub, others), false});
  return bundle;
}

}  // namespace shardplan
