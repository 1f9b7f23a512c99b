#include "hardware/facts/host.h"

#include <fmt/format.h>

#include <algorithm>

#include "hardware/facts/fact_text.h"
#include "shardplan/base/units.h"

namespace shardplan::facts {
namespace {

constexpr int kMostNumaNodes = 64;

NumaFacts* NumaOf(HostFacts* host, int node) {
  const auto at = std::lower_bound(host->numa.begin(), host->numa.end(), node,
                                   [](const NumaFacts& n, int key) { return n.node < key; });
  if (at != host->numa.end() && at->node == node) return &*at;
  NumaFacts facts;
  facts.node = node;
  return &*host->numa.insert(at, facts);
}

// "NUMA node0 CPU(s):  0-31" of lscpu.
void TakeLscpu(std::string_view line, HostFacts* out) {
  constexpr std::string_view kStart = "NUMA node";
  constexpr std::string_view kEnd = " CPU(s):";
  const size_t end = line.find(kEnd);
  if (!line.starts_with(kStart) || end == std::string_view::npos) return;
  const std::optional<int> node = ParseInt(line.substr(kStart.size(), end - kStart.size()));
  if (!node || *node >= kMostNumaNodes) return;
  const std::string cpus(Trim(line.substr(end + kEnd.size())));
  if (cpus.find_first_not_of("0123456789-,") == std::string::npos) NumaOf(out, *node)->cpus = cpus;
}

// "node 0 size: 1031234 MB" of numactl.
void TakeNumactl(std::string_view line, HostFacts* out) {
  const std::vector<std::string> words = Words(line);
  if (words.size() != 5 || words[0] != "node" || words[2] != "size:") return;
  const std::optional<int> node = ParseInt(words[1]);
  const std::optional<Bytes> size = ParseSize(words[3] + " " + words[4], kMiB);
  if (node && *node < kMostNumaNodes && size) NumaOf(out, *node)->memory = size;
}

}  // namespace

Result<HostFacts> ParseHost(std::string_view text, const std::string& file) {
  HostFacts out;
  for (const std::string& line : LinesOf(text)) {
    constexpr std::string_view kTotal = "MemTotal:";
    if (line.starts_with(kTotal)) {
      out.memory = ParseSize(Trim(std::string_view(line).substr(kTotal.size())), kKiB);
    }
    TakeLscpu(line, &out);
    TakeNumactl(line, &out);
  }
  if (!out.memory && out.numa.empty()) {
    return FailAt(file, 0,
                  "expected MemTotal, lscpu's NUMA nodes or numactl --hardware, found neither");
  }
  if (out.numa.size() == 1 && !out.numa[0].memory) out.numa[0].memory = out.memory;
  return out;
}

}  // namespace shardplan::facts
