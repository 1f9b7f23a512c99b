#include "hardware/facts/read_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "hardware/facts/fact_text.h"
#include "hardware/facts/host.h"
#include "hardware/facts/nvlink.h"
#include "hardware/facts/smi_log.h"
#include "hardware/facts/smi_query.h"
#include "hardware/facts/topology.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan::facts {
namespace {

constexpr Bytes kLargestFile(4 * kMiB);

constexpr std::string_view kKinds =
    "known are nvidia-smi -q, --query-gpu=… --format=csv, topo -m and nvlink -s, lscpu, "
    "/proc/meminfo and numactl --hardware";

bool HasWords(std::string_view line, std::string_view a, std::string_view b) {
  return line.find(a) != std::string_view::npos && line.find(b) != std::string_view::npos;
}

class Filler {
 public:
  explicit Filler(NodeKind* kind) : kind_(*kind) {}

  Status Take(FactKind what, const std::string& text, const std::string& file) {
    switch (what) {
      case FactKind::kUnknown:
        break;
      case FactKind::kSmiQuery: {
        SHARDPLAN_ASSIGN_OR_RETURN(const std::vector<CardFacts> cards, ParseSmiQuery(text, file));
        return TakeCards(cards, file);
      }
      case FactKind::kSmiLog: {
        SHARDPLAN_ASSIGN_OR_RETURN(const std::vector<CardFacts> cards, ParseSmiLog(text, file));
        return TakeCards(cards, file);
      }
      case FactKind::kTopology: {
        SHARDPLAN_ASSIGN_OR_RETURN(const TopologyFacts topology, ParseTopology(text, file));
        return TakeTopology(topology, file);
      }
      case FactKind::kNvlink: {
        SHARDPLAN_ASSIGN_OR_RETURN(const std::vector<NvlinkFacts> cards, ParseNvlink(text, file));
        return TakeNvlink(cards, file);
      }
      case FactKind::kHost: {
        SHARDPLAN_ASSIGN_OR_RETURN(const HostFacts host, ParseHost(text, file));
        TakeHost(host, file);
        return {};
      }
    }
    return {};
  }

 private:
  Status CheckCount(size_t found, const std::string& file) const {
    if (found == kind_.cards.size()) return {};
    if (kind_.cards.empty()) {
      return Fail(ErrorCode::kInvalidInput, Printable(file),
                  fmt::format("found {} cards, and no file that tells what they are", found),
                  "nvidia-smi -q, or --query-gpu=name,memory.total,memory.reserved --format=csv, "
                  "of this node");
    }
    return Fail(
        ErrorCode::kInvalidInput, Printable(file),
        fmt::format("expected the {} cards of this node, found {}", kind_.cards.size(), found),
        fmt::format("the node is described at {}; all its files are of one server", kind_.where));
  }

  Status TakeCards(const std::vector<CardFacts>& cards, const std::string& file) {
    written_ = written_ || (first_.empty() && !kind_.cards.empty());
    if (kind_.cards.empty()) {
      for (const CardFacts& facts : cards) {
        CardSpec card;
        card.gpu = facts.name;
        card.where = Printable(file);
        kind_.cards.push_back(std::move(card));
      }
    }
    SHARDPLAN_RETURN_IF_ERROR(CheckCount(cards.size(), file));
    SHARDPLAN_RETURN_IF_ERROR(CheckAgree(cards, file));
    for (size_t i = 0; i < cards.size(); ++i) TakeCard(cards[i], file, &kind_.cards[i]);
    if (kind_.driver.empty()) kind_.driver = cards[0].driver;
    const std::optional<int> generation = cards[0].pcie_generation;
    const std::optional<int> width = cards[0].pcie_width;
    if (!kind_.pcie_gb_per_s && generation && width && *generation >= 3 && *generation <= 7 &&
        *width >= 1 && *width <= 32) {
      // PCIe 3.0: 8 GT/s a lane, 128 of 130 bits; each generation doubles it.
      const double lane = 8.0 / 8 * 128 / 130 * static_cast<double>(1 << (*generation - 3));
      kind_.pcie_gb_per_s = {
          lane * *width, Basis::kDerived,
          fmt::format("PCIe {} ×{} in {}", *generation, *width, Printable(file))};
    }
    return {};
  }

  // Both listings are of the same cards in the same order.
  Status CheckAgree(const std::vector<CardFacts>& cards, const std::string& file) {
    if (first_.empty()) {
      first_ = cards;
      first_file_ = file;
      return {};
    }
    for (size_t i = 0; i < cards.size(); ++i) {
      const CardFacts& a = first_[i];
      const CardFacts& b = cards[i];
      const bool driver = a.driver.empty() || b.driver.empty() || a.driver == b.driver;
      if (a.name == b.name && a.total == b.total && driver) continue;
      const auto told = [](const CardFacts& c) {
        return fmt::format("{} with {}{}", Printable(c.name, 60),
                           c.total ? FormatMiB(*c.total) : "no total",
                           c.driver.empty() ? "" : ", driver " + Printable(c.driver, 40));
      };
      return Fail(ErrorCode::kInvalidInput, Printable(file),
                  fmt::format("expected card {} as in {}: {}, found {}", i, Printable(first_file_),
                              told(a), told(b)),
                  "all files of a node are of one server and one time");
    }
    return {};
  }

  void TakeCard(const CardFacts& facts, const std::string& file, CardSpec* card) const {
    if (written_) {
      card->read_name = facts.name;
      card->read_total = facts.total.value_or(Bytes());
    }
    if (!card->device_total) {
      card->device_total = {Range(*facts.total), Basis::kMeasured,
                            "nvidia-smi, " + Printable(file)};
      if (!card->cuda_visible && facts.reserved && *facts.reserved < *facts.total) {
        const Bytes visible = *facts.total - *facts.reserved;
        const Bytes mib(kMiB);
        card->cuda_visible = {
            Range(visible - mib, visible, std::min(visible + mib, *facts.total)), Basis::kDerived,
            "nvidia-smi's total less what it reports as reserved, " + Printable(file)};
      }
    }
    if (facts.used) card->in_use = std::max(card->in_use, *facts.used);
    card->mig = card->mig || facts.mig;
  }

  Status TakeTopology(const TopologyFacts& topology, const std::string& file) {
    SHARDPLAN_RETURN_IF_ERROR(CheckCount(topology.links.size(), file));
    const std::vector<int> groups = topology.NvlinkGroups();
    for (size_t i = 0; i < kind_.cards.size(); ++i) {
      CardSpec& card = kind_.cards[i];
      if (!card.numa_node) card.numa_node = topology.numa[i];
      if (!card.nvlink_group) card.nvlink_group = groups[i];
      if (topology.numa[i]) AddNuma(*topology.numa[i])->cpus = topology.cpus[i];
    }
    if (kind_.nvlink_link.empty()) kind_.nvlink_link = topology.NvlinkName();
    const bool written = !kind_.nics.empty();
    for (const NicFacts& facts : topology.nics) {
      const std::optional<int> numa = NumaOf(facts, topology);
      const auto at = std::find_if(kind_.nics.begin(), kind_.nics.end(),
                                   [&](const NicSpec& nic) { return nic.name == facts.name; });
      if (at != kind_.nics.end()) {
        if (!at->numa_node) at->numa_node = numa;
      } else if (!written) {
        NicSpec nic;
        nic.name = facts.name;
        nic.numa_node = numa;
        kind_.nics.push_back(std::move(nic));
      }
    }
    return {};
  }

  // Where the port is: with the cards that it reaches without crossing sockets.
  static std::optional<int> NumaOf(const NicFacts& nic, const TopologyFacts& topology) {
    std::optional<int> numa;
    for (size_t i = 0; i < nic.to.size(); ++i) {
      if (nic.to[i] == "SYS" || !topology.numa[i]) continue;
      if (numa && numa != topology.numa[i]) return std::nullopt;
      numa = topology.numa[i];
    }
    return numa;
  }

  Status TakeNvlink(const std::vector<NvlinkFacts>& cards, const std::string& file) {
    SHARDPLAN_RETURN_IF_ERROR(CheckCount(cards.size(), file));
    const NvlinkFacts* least = nullptr;
    for (size_t i = 0; i < cards.size(); ++i) {
      // To whom the links of a card lead is told by the topology alone.
      if (cards[i].active == 0 && !kind_.cards[i].nvlink_group) kind_.cards[i].nvlink_group = -1;
      if (cards[i].active == 0) continue;
      if (least == nullptr || cards[i].active < least->active) least = &cards[i];
    }
    if (least == nullptr) return {};
    if (kind_.nvlink_link.empty()) kind_.nvlink_link = fmt::format("NV{}", least->active);
    kind_.nvlink_gb_per_s = {least->active * least->gb_per_s, Basis::kMeasured,
                             fmt::format("{} links × {} GB/s, nvidia-smi nvlink -s, {}",
                                         least->active, least->gb_per_s, Printable(file))};
    return {};
  }

  void TakeHost(const HostFacts& host, const std::string& file) {
    const auto measured = [&](Bytes bytes) {
      return SourcedBytes{Range(bytes), Basis::kMeasured, Printable(file)};
    };
    if (!kind_.memory && host.memory) kind_.memory = measured(*host.memory);
    for (const NumaFacts& facts : host.numa) {
      NumaSpec* const numa = AddNuma(facts.node);
      if (numa->cpus.empty()) numa->cpus = facts.cpus;
      if (!numa->memory && facts.memory) numa->memory = measured(*facts.memory);
    }
  }

  NumaSpec* AddNuma(int node) {
    const auto at = std::lower_bound(kind_.numa.begin(), kind_.numa.end(), node,
                                     [](const NumaSpec& n, int key) { return n.node < key; });
    if (at != kind_.numa.end() && at->node == node) return &*at;
    NumaSpec spec;
    spec.node = node;
    return &*kind_.numa.insert(at, std::move(spec));
  }

  NodeKind& kind_;
  bool written_ = false;          // the cards, before anything was read
  std::vector<CardFacts> first_;  // of the first listing
  std::string first_file_;
};

}  // namespace

FactKind FactKindOf(std::string_view text) {
  const std::vector<std::string> lines = LinesOf(text.substr(0, 64 * size_t{kKiB}));
  bool gpu = false;
  for (const std::string& line : lines) {
    if (line.find("NVSMI LOG") != std::string::npos) return FactKind::kSmiLog;
    if (HasWords(line, "name", "memory.total")) return FactKind::kSmiQuery;
    if (HasWords(line, "GPU0", "CPU Affinity")) return FactKind::kTopology;
    gpu = gpu || line.starts_with("GPU 0:");
    if (gpu && Trim(line).starts_with("Link ")) return FactKind::kNvlink;
    if (line.starts_with("MemTotal:") || HasWords(line, "NUMA node", "CPU(s):") ||
        (line.starts_with("node ") && HasWords(line, "size:", "MB"))) {
      return FactKind::kHost;
    }
  }
  return FactKind::kUnknown;
}

Status ReadFacts(const std::vector<std::string>& paths, bool skip_unknown, NodeKind* kind) {
  // Cards first: the other files are about them.
  std::vector<std::pair<FactKind, size_t>> order;
  std::vector<std::string> texts;
  std::map<FactKind, std::string> seen;
  for (const std::string& path : paths) {
    SHARDPLAN_ASSIGN_OR_RETURN(std::string text, ReadTextFile(path, kLargestFile));
    const FactKind what = FactKindOf(text);
    if (what == FactKind::kUnknown && !skip_unknown) {
      return Fail(ErrorCode::kInvalidInput, Printable(path),
                  "expected what a tool prints about a server, found something else",
                  std::string(kKinds));
    }
    if (what != FactKind::kUnknown && what != FactKind::kHost) {
      const auto [first, is_new] = seen.emplace(what, path);
      if (!is_new) {
        return Fail(ErrorCode::kInvalidInput, Printable(path),
                    "expected one output of each kind, found it again: the first is " +
                        Printable(first->second),
                    "a node has files of its own");
      }
    }
    order.emplace_back(what, texts.size());
    texts.push_back(std::move(text));
  }
  std::sort(order.begin(), order.end());
  Filler filler(kind);
  for (const auto& [what, i] : order) {
    SHARDPLAN_RETURN_IF_ERROR(filler.Take(what, texts[i], paths[i]));
  }
  return {};
}

}  // namespace shardplan::facts
