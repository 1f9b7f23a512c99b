#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "report/sections.h"
#include "report/shard_list.h"
#include "report/table.h"
#include "report/text.h"
#include "shardplan/base/units.h"
#include "shardplan/launch/shell.h"

namespace shardplan {
namespace {

std::optional<Bytes> CentralOf(const std::optional<SourcedBytes>& value) {
  return value ? std::optional<Bytes>(value->bytes.central) : std::nullopt;
}

bool SameRows(const std::vector<HostRow>& a, const std::vector<HostRow>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const HostRow& x, const HostRow& y) {
    return x.name == y.name && x.bytes.central == y.bytes.central;
  });
}

bool SameNeeds(const HostPlan& a, const HostPlan& b) {
  const auto same = [](const NumaBytes& x, const NumaBytes& y) {
    return x.numa_node == y.numa_node && x.bytes == y.bytes && x.allocated == y.allocated &&
           x.memory == y.memory;
  };
  return a.pinned == b.pinned && a.pinned_allocated == b.pinned_allocated &&
         std::equal(a.per_numa.begin(), a.per_numa.end(), b.per_numa.begin(), b.per_numa.end(),
                    same);
}

bool SameMemory(const HostPlan& a, const HostPlan& b) {
  return CentralOf(a.memory) == CentralOf(b.memory) &&
         CentralOf(a.container_limit) == CentralOf(b.container_limit) && SameRows(a.rows, b.rows);
}

// Neighbouring entries for which `same` holds, as index ranges [begin, end).
template <typename T, typename Same>
std::vector<std::pair<size_t, size_t>> Runs(const std::vector<T>& entries, Same same) {
  std::vector<std::pair<size_t, size_t>> runs;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!runs.empty() && same(entries[runs.back().first], entries[i])) {
      runs.back().second = i + 1;
    } else {
      runs.emplace_back(i, i + 1);
    }
  }
  return runs;
}

// "node 3", "nodes 0–7"
template <typename T>
std::string NodeNames(const std::vector<T>& entries, std::pair<size_t, size_t> run) {
  std::vector<int64_t> nodes;
  for (size_t i = run.first; i < run.second; ++i) nodes.push_back(entries[i].node);
  return (nodes.size() == 1 ? "node " : "nodes ") + FormatRuns(nodes);
}

// " of 1,024.0 GiB"
std::string OfMemory(const std::optional<Bytes>& memory) {
  return memory ? " of " + FormatGiB(*memory, 1) : "";
}

// "pinned weights" of "pinned_weights".
std::string InWords(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

// What a node's memory goes to, against what it has.
std::string NodeMemory(const Plan& plan, size_t width) {
  TextTable table({Align::kLeft, Align::kRight, Align::kLeft});
  for (const auto& run : Runs(plan.host, SameMemory)) {
    const HostPlan& host = plan.host[run.first];
    table.AddRow({NodeNames(plan.host, run) + (run.second - run.first > 1 ? ", each" : "")});
    Bytes kept;
    for (const HostRow& row : host.rows) {
      if (!row.reclaimable) kept += row.bytes.central;
      table.AddRow(
          {"  " + InWords(row.name), FormatGiB(row.bytes.central, 1),
           fmt::format("{}{}", ToString(row.basis), row.reclaimable ? ", reclaimable" : "")});
    }
    const auto limit = [&](const char* name, const std::optional<SourcedBytes>& value) {
      if (!value) return;
      table.AddRow(
          {fmt::format("  left of the {}", name), FormatGiB(value->bytes.central - kept, 1),
           fmt::format("of {}, {}", FormatGiB(value->bytes.central, 1), ToString(value->basis))});
    };
    limit("node's memory", host.memory);
    limit("container's limit", host.container_limit);
  }
  return "Host memory of each node\n" + table.Render(width);
}

std::string ShardLine(std::string_view label, const std::vector<std::string>& names, bool verbose,
                      size_t width) {
  // A pattern is short; names that don't fold would fill a screen.
  constexpr size_t kShown = 4;
  std::vector<std::string> folded = FoldNames(names);
  const size_t all = folded.size();
  if (!verbose && all > kShown) folded.resize(kShown);
  std::string text = fmt::format("{} {}: {}", label, names.size(), fmt::join(folded, ", "));
  if (folded.size() < all) text += fmt::format(" and {} more", all - folded.size());
  return Wrap(text, width, 4, 6);
}

// The same command but for the value of --node-rank.
bool SameButForRank(const LaunchPlan& a, const LaunchPlan& b) {
  if (a.env != b.env || a.argv.size() != b.argv.size()) return false;
  for (size_t i = 0; i < a.argv.size(); ++i) {
    const bool rank = i > 0 && a.argv[i - 1] == "--node-rank" && b.argv[i - 1] == "--node-rank";
    if (a.argv[i] != b.argv[i] && !rank) return false;
  }
  return true;
}

}  // namespace

std::string HostSection(const Plan& plan, size_t width) {
  const bool pinned = std::any_of(plan.host.begin(), plan.host.end(),
                                  [](const HostPlan& host) { return host.pinned > Bytes(); });
  const bool told = std::any_of(plan.host.begin(), plan.host.end(), [](const HostPlan& host) {
    return host.memory.has_value() || host.container_limit.has_value();
  });
  if (!pinned && !told) return "";
  std::string out;
  if (pinned) {
    TextTable table({Align::kLeft, Align::kRight, Align::kRight});
    table.AddRow({"", "offloaded", "really taken"});
    for (const auto& run : Runs(plan.host, SameNeeds)) {
      const HostPlan& host = plan.host[run.first];
      table.AddRow({NodeNames(plan.host, run) + (run.second - run.first > 1 ? ", each" : ""),
                    FormatGiB(host.pinned), FormatGiB(host.pinned_allocated)});
      for (const NumaBytes& numa : host.per_numa) {
        table.AddRow({fmt::format("  NUMA node {}{}", numa.numa_node, OfMemory(numa.memory)),
                      FormatGiB(numa.bytes), FormatGiB(numa.allocated)});
      }
    }
    out = "Host memory, pinned\n" + table.Render(width) +
          Wrap(
              "The pinned allocator rounds each tensor up to a power of two: a node needs the "
              "larger number.",
              width, 2, 2);
  }
  return told ? out + (out.empty() ? "" : "\n") + NodeMemory(plan, width) : out;
}

std::string FilesSection(const Plan& plan, size_t width, bool verbose) {
  if (plan.files.empty()) return "";
  std::string out = "Shard files of each node\n";
  const auto same = [](const FilesPlan& a, const FilesPlan& b) {
    return a.shards == b.shards && a.needed_shards == b.needed_shards && a.bytes == b.bytes;
  };
  for (const auto& run : Runs(plan.files, same)) {
    const FilesPlan& files = plan.files[run.first];
    out += Wrap(fmt::format("{}: {} = {}", NodeNames(plan.files, run), FormatBytes(files.bytes),
                            FormatGiB(files.bytes)),
                width, 2, 4);
    out += ShardLine("kept", files.shards, verbose, width);
    out += ShardLine("needed", files.needed_shards, verbose, width);
  }
  return out;
}

std::string LaunchSection(const Plan& plan, bool verbose) {
  std::string out;
  // A command that is known to end in an error is still the one to start from.
  const std::string note = plan.verdict == Verdict::kFits ? "" : " (it does not fit as it is)";
  const auto runs = Runs(plan.launch, SameButForRank);
  for (auto run : runs) {
    // Two nodes are told in full; of more that are alike, the first.
    const bool fold = !verbose && run.second - run.first > 2;
    const size_t shown = fold ? run.first + 1 : run.second;
    for (size_t i = run.first; i < shown; ++i) {
      const LaunchPlan& launch = plan.launch[i];
      if (!out.empty()) out += '\n';
      out += "Launch";
      if (plan.launch.size() > 1) out += fmt::format(" on node {}", launch.node);
      out += note + "\n";
      out += RenderCommand(launch) + "\n";
    }
    if (fold) {
      out +=
          fmt::format("\nLaunch on {}: the same with --node-rank {} to {} (-v prints them all)\n",
                      NodeNames(plan.launch, {run.first + 1, run.second}),
                      plan.launch[run.first + 1].node, plan.launch[run.second - 1].node);
    }
  }
  return out;
}

}  // namespace shardplan
