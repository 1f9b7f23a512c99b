#include "hardware/node_yaml.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "hardware/catalog_yaml.h"
#include "shardplan/base/units.h"

namespace shardplan::internal {
namespace {

constexpr int64_t kMostNodes = 4096;
constexpr size_t kMostCards = 64;
constexpr size_t kMostParts = 256;  // ports, disks, facts of a server
constexpr int kMostNumaNodes = 64;
constexpr double kFastest = 1e6;

// A value in a list: the name of the list is what errors say.
Result<std::vector<YAML::Node>> ListOf(const Mapping& map, std::string_view key, size_t most) {
  SHARDPLAN_ASSIGN_OR_RETURN(const YAML::Node node, map.Get(key));
  if (!node.IsSequence()) return map.Expected(key, node, fmt::format("a list of 1 to {}", most));
  if (node.size() == 0 || node.size() > most) {
    return map.place().Fail(node.Mark(), fmt::format("{}: expected a list of 1 to {}, found {}",
                                                     map.Name(key), most, node.size()));
  }
  std::vector<YAML::Node> out;
  for (const YAML::Node& entry : node) out.push_back(entry);
  return out;
}

constexpr size_t kMostCpus = 8192;  // of a kernel

// "0-31,64-95" and the like, words that numactl takes. `seen` are the CPUs of other NUMA nodes.
Result<std::string> CpusOf(const Mapping& map, std::vector<bool>* seen) {
  SHARDPLAN_ASSIGN_OR_RETURN(std::string cpus, map.Text("cpus"));
  SHARDPLAN_ASSIGN_OR_RETURN(const YAML::Node node, map.Get("cpus"));
  seen->resize(kMostCpus);
  const char* at = cpus.data();
  const char* const end = at + cpus.size();
  const auto number = [&](size_t* out) {
    const auto [next, error] = std::from_chars(at, end, *out);
    at = next;
    return error == std::errc() && *out < kMostCpus;
  };
  while (true) {
    size_t first = 0;
    bool good = number(&first);
    size_t last = first;
    if (good && at != end && *at == '-') {
      ++at;
      good = number(&last) && first <= last;
    }
    if (!good || (at != end && *at != ',')) {
      return map.Expected("cpus", node, "a list of CPUs such as 0-31,64-95");
    }
    for (size_t cpu = first; cpu <= last; ++cpu) {
      if ((*seen)[cpu]) return map.Expected("cpus", node, fmt::format("CPU {} once", cpu));
      (*seen)[cpu] = true;
    }
    if (at == end) return cpus;
    ++at;
  }
}

// A size by itself, or a mapping with its basis, source and date.
Result<SourcedBytes> Capacity(const Mapping& map, std::string_view key, const Told& told) {
  SHARDPLAN_ASSIGN_OR_RETURN(const YAML::Node node, map.Get(key));
  if (node.IsMap()) return ReadSourcedBytes(map, key);
  SHARDPLAN_ASSIGN_OR_RETURN(const Bytes size, map.Size(key));
  return SourcedBytes{Range(size), told.basis, told.SourceAt(map.place(), node.Mark())};
}

Status OptionalCapacity(const Mapping& map, std::string_view key, const Told& told,
                        std::optional<SourcedBytes>* out) {
  if (!map.Has(key)) return {};
  SHARDPLAN_ASSIGN_OR_RETURN(*out, Capacity(map, key, told));
  return {};
}

Result<SourcedRate> Rate(const Mapping& map, std::string_view key, const Told& told) {
  SHARDPLAN_ASSIGN_OR_RETURN(const double value, map.Count(key, kFastest));
  SHARDPLAN_ASSIGN_OR_RETURN(const YAML::Node node, map.Get(key));
  if (value <= 0) return map.Expected(key, node, "a rate above 0");
  return SourcedRate{value, told.basis, told.SourceAt(map.place(), node.Mark())};
}

class KindReader {
 public:
  KindReader(const Place& place, const Told& told) : place_(place), told_(told) {}

  Result<NodeYaml> Read(const YAML::Node& node, const std::string& name) {
    static const std::vector<std::string> kKeys = {
        "name", "count", "hosts",  "facts",  "gpus",   "nvlink",           "pcie_gb_per_s",
        "nics", "numa",  "disks",  "driver", "memory", "container_memory", "memlock",
        "shm",  "basis", "source", "date"};
    SHARDPLAN_ASSIGN_OR_RETURN(const Mapping map, Mapping::Read(place_, node, name, kKeys));
    NodeKind& kind = out_.kind;
    kind.name = name;
    kind.where = place_.At(map.mark());
    if (map.Has("basis") || map.Has("source") || map.Has("date")) {
      SHARDPLAN_ASSIGN_OR_RETURN(told_, Told::Read(map));
    }
    if (map.Has("name")) {
      SHARDPLAN_ASSIGN_OR_RETURN(kind.name, map.Text("name"));
    }
    SHARDPLAN_RETURN_IF_ERROR(ReadHosts(map));
    SHARDPLAN_RETURN_IF_ERROR(ReadFactNames(map));
    SHARDPLAN_RETURN_IF_ERROR(ReadGpus(map));
    SHARDPLAN_RETURN_IF_ERROR(ReadNuma(map));
    SHARDPLAN_RETURN_IF_ERROR(ReadNvlink(map));
    SHARDPLAN_RETURN_IF_ERROR(ReadNics(map));
    SHARDPLAN_RETURN_IF_ERROR(ReadDisks(map));
    if (map.Has("pcie_gb_per_s")) {
      SHARDPLAN_ASSIGN_OR_RETURN(kind.pcie_gb_per_s, Rate(map, "pcie_gb_per_s", told_));
    }
    SHARDPLAN_RETURN_IF_ERROR(ReadHost(map));
    return std::move(out_);
  }

 private:
  Status ReadHosts(const Mapping& map) {
    NodeKind& kind = out_.kind;
    if (map.Has("hosts")) {
      SHARDPLAN_ASSIGN_OR_RETURN(const auto hosts, ListOf(map, "hosts", kMostNodes));
      for (const YAML::Node& host : hosts) {
        const std::string text = host.IsScalar() ? host.Scalar() : "";
        const bool good = !text.empty() && text.size() <= 253 && text[0] != '-' && text[0] != '.' &&
                          text.find_first_not_of(
                              "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                              "0123456789.-_") == std::string::npos;
        if (!good) return map.Expected("hosts", host, "a host name");
        kind.hosts.push_back(text);
      }
      kind.count = static_cast<int64_t>(kind.hosts.size());
    }
    if (!map.Has("count")) return {};
    SHARDPLAN_ASSIGN_OR_RETURN(const int64_t count, map.Count("count", kMostNodes));
    const bool contradicts = !kind.hosts.empty() && count != kind.count;
    if (count < 1 || contradicts) {
      return map.Expected("count", *map.Get("count"),
                          contradicts ? fmt::format("{}, the number of hosts", kind.count)
                                      : std::string("at least 1"));
    }
    kind.count = count;
    return {};
  }

  // Files beside this one or below it.
  Status ReadFactNames(const Mapping& map) {
    if (!map.Has("facts")) return {};
    SHARDPLAN_ASSIGN_OR_RETURN(const auto names, ListOf(map, "facts", kMostParts));
    for (const YAML::Node& name : names) {
      const std::string text = name.IsScalar() ? name.Scalar() : "";
      const bool inside = !text.empty() && text[0] != '/' && text.find('\0') == std::string::npos &&
                          ("/" + text + "/").find("/../") == std::string::npos;
      if (!inside) {
        return map.Expected("facts", name, "a file's path below this file's folder, without ..");
      }
      out_.facts.push_back(text);
    }
    return {};
  }

  Status ReadGpus(const Mapping& map) {
    if (!map.Has("gpus")) {
      if (!out_.facts.empty()) return {};
      return place_.Fail(map.mark(), "missing key " + map.Name("gpus"),
                         "gpus: {gpu: h20-96, count: 8}, or facts with the outputs of nvidia-smi");
    }
    SHARDPLAN_ASSIGN_OR_RETURN(const YAML::Node node, map.Get("gpus"));
    if (node.IsMap()) return ReadGpuGroup(node, map.Name("gpus"));
    SHARDPLAN_ASSIGN_OR_RETURN(const auto groups, ListOf(map, "gpus", kMostCards));
    for (const YAML::Node& group : groups) {
      SHARDPLAN_RETURN_IF_ERROR(ReadGpuGroup(group, map.Name("gpus")));
    }
    return {};
  }

  // Cards that are alike.
  Status ReadGpuGroup(const YAML::Node& node, const std::string& name) {
    static const std::vector<std::string> kKeys = {"gpu",  "card",         "count",
                                                   "numa", "device_total", "cuda_visible"};
    SHARDPLAN_ASSIGN_OR_RETURN(const Mapping map, Mapping::Read(place_, node, name, kKeys));
    CardSpec card;
    card.where = place_.At(map.mark());
    if (map.Has("card") == map.Has("gpu")) {
      return place_.Fail(map.mark(),
                         name +
                             ": expected either gpu, an id of `shardplan catalog gpus`, or card, "
                             "a description as the catalogue's files have it");
    }
    if (map.Has("card")) {
      SHARDPLAN_ASSIGN_OR_RETURN(const YAML::Node described, map.Get("card"));
      SHARDPLAN_ASSIGN_OR_RETURN(card.described, ReadGpu(place_, described, ""));
      card.gpu = card.described->id;
    } else {
      SHARDPLAN_ASSIGN_OR_RETURN(card.gpu, map.Text("gpu"));
    }
    SHARDPLAN_RETURN_IF_ERROR(OptionalCapacity(map, "device_total", told_, &card.device_total));
    SHARDPLAN_RETURN_IF_ERROR(OptionalCapacity(map, "cuda_visible", told_, &card.cuda_visible));
    size_t count = 1;
    if (map.Has("count")) {
      SHARDPLAN_ASSIGN_OR_RETURN(count, map.Count("count", kMostCards));
    }
    if (count < 1 || out_.kind.cards.size() + count > kMostCards) {
      return place_.Fail(map.mark(),
                         fmt::format("{}: expected 1 to {} cards a node", name, kMostCards));
    }
    std::vector<int> numa;
    if (map.Has("numa")) {
      SHARDPLAN_ASSIGN_OR_RETURN(const YAML::Node nodes, map.Get("numa"));
      if (!nodes.IsSequence() || nodes.size() != count) {
        return map.Expected("numa", nodes,
                            fmt::format("a list of {} NUMA nodes, one a card", count));
      }
      for (const YAML::Node& entry : nodes) {
        SHARDPLAN_ASSIGN_OR_RETURN(const int of_card, map.Count("numa", entry, kMostNumaNodes - 1));
        numa.push_back(of_card);
      }
    }
    for (size_t i = 0; i < count; ++i) {
      if (!numa.empty()) card.numa_node = numa[i];
      out_.kind.cards.push_back(card);
    }
    return {};
  }

  // Cards of a list, by their numbers in the node. `seen` is what each was given before.
  Result<std::vector<int>> CardsOf(const Mapping& map, std::string_view key, const YAML::Node& list,
                                   std::vector<bool>* seen) const {
    std::vector<int> cards;
    if (!list.IsSequence()) return map.Expected(key, list, "a list of cards such as [0, 1]");
    seen->resize(kMostCards);
    for (const YAML::Node& entry : list) {
      SHARDPLAN_ASSIGN_OR_RETURN(const int card,
                                 map.Count(key, entry, static_cast<int>(kMostCards) - 1));
      const bool known =
          out_.kind.cards.empty() || static_cast<size_t>(card) < out_.kind.cards.size();
      if (!known || (*seen)[static_cast<size_t>(card)]) {
        return map.Expected(key, entry,
                            known ? std::string("each card once")
                                  : fmt::format("a card from 0 to {}", out_.kind.cards.size() - 1));
      }
      (*seen)[static_cast<size_t>(card)] = true;
      cards.push_back(card);
    }
    return cards;
  }

  Status ReadNuma(const Mapping& map) {
    if (!map.Has("numa")) return {};
    static const std::vector<std::string> kKeys = {"node", "memory", "cpus", "gpus"};
    SHARDPLAN_ASSIGN_OR_RETURN(const auto nodes, ListOf(map, "numa", kMostNumaNodes));
    std::vector<bool> seen;
    std::vector<bool> cpus;
    for (const YAML::Node& node : nodes) {
      SHARDPLAN_ASSIGN_OR_RETURN(const Mapping entry,
                                 Mapping::Read(place_, node, map.Name("numa"), kKeys));
      NumaSpec numa;
      SHARDPLAN_ASSIGN_OR_RETURN(numa.node, entry.Count("node", kMostNumaNodes - 1));
      if (out_.kind.FindNuma(numa.node) != nullptr) {
        return place_.Fail(entry.mark(),
                           fmt::format("{}: second node {}", map.Name("numa"), numa.node));
      }
      SHARDPLAN_RETURN_IF_ERROR(OptionalCapacity(entry, "memory", told_, &numa.memory));
      if (entry.Has("cpus")) {
        SHARDPLAN_ASSIGN_OR_RETURN(numa.cpus, CpusOf(entry, &cpus));
      }
      if (entry.Has("gpus")) {
        SHARDPLAN_ASSIGN_OR_RETURN(const YAML::Node list, entry.Get("gpus"));
        SHARDPLAN_ASSIGN_OR_RETURN(const std::vector<int> cards,
                                   CardsOf(entry, "gpus", list, &seen));
        SHARDPLAN_RETURN_IF_ERROR(PutOnNode(entry, list, cards, numa.node));
      }
      out_.kind.numa.push_back(std::move(numa));
    }
    std::sort(out_.kind.numa.begin(), out_.kind.numa.end(),
              [](const NumaSpec& a, const NumaSpec& b) { return a.node < b.node; });
    return {};
  }

  Status PutOnNode(const Mapping& entry, const YAML::Node& list, const std::vector<int>& cards,
                   int node) {
    if (out_.kind.cards.empty()) {
      return entry.Expected("gpus", list, "the cards' nodes in the facts, or gpus of this node");
    }
    for (const int card : cards) {
      std::optional<int>& numa = out_.kind.cards[static_cast<size_t>(card)].numa_node;
      if (numa && *numa != node) {
        return place_.Fail(list.Mark(), fmt::format("{}: card {} is on NUMA node {} by gpus.numa",
                                                    entry.Name("gpus"), card, *numa));
      }
      numa = node;
    }
    return {};
  }

  // none, node (all cards of a server), nodes (of all servers of this kind), or lists of cards.
  Status ReadNvlink(const Mapping& map) {
    if (!map.Has("nvlink")) return {};
    SHARDPLAN_ASSIGN_OR_RETURN(const YAML::Node node, map.Get("nvlink"));
    std::vector<CardSpec>& cards = out_.kind.cards;
    if (cards.empty()) {
      return map.Expected("nvlink", node, "nothing where gpus come from facts: topo -m tells it");
    }
    const std::string word = node.IsScalar() ? node.Scalar() : "";
    if (word == "none" || word == "node" || word == "nodes") {
      for (CardSpec& card : cards) card.nvlink_group = word == "none" ? -1 : 0;
      out_.kind.nvlink_over_nodes = word == "nodes";
      return {};
    }
    if (!node.IsSequence() || node.size() == 0) {
      return map.Expected("nvlink", node, "none, node, nodes or lists of cards that it joins");
    }
    for (CardSpec& card : cards) card.nvlink_group = -1;
    std::vector<bool> seen;
    int group = 0;
    for (const YAML::Node& list : node) {
      SHARDPLAN_ASSIGN_OR_RETURN(const std::vector<int> joined,
                                 CardsOf(map, "nvlink", list, &seen));
      for (const int card : joined) {
        cards[static_cast<size_t>(card)].nvlink_group = joined.size() > 1 ? group : -1;
      }
      ++group;
    }
    return {};
  }

  Status ReadNics(const Mapping& map) {
    if (!map.Has("nics")) return {};
    static const std::vector<std::string> kKeys = {"name", "count", "gbit_per_s", "protocol",
                                                   "numa"};
    static const std::map<std::string, NicProtocol> kProtocols = {
        {"ethernet", NicProtocol::kEthernet},
        {"roce", NicProtocol::kRoce},
        {"infiniband", NicProtocol::kInfiniband}};
    SHARDPLAN_ASSIGN_OR_RETURN(const auto nics, ListOf(map, "nics", kMostParts));
    for (const YAML::Node& node : nics) {
      SHARDPLAN_ASSIGN_OR_RETURN(const Mapping entry,
                                 Mapping::Read(place_, node, map.Name("nics"), kKeys));
      NicSpec nic;
      if (entry.Has("name")) {
        SHARDPLAN_ASSIGN_OR_RETURN(nic.name, entry.Text("name"));
        const bool second = std::any_of(out_.kind.nics.begin(), out_.kind.nics.end(),
                                        [&](const NicSpec& n) { return n.name == nic.name; });
        if (second) {
          return place_.Fail(entry.mark(), fmt::format("{}: second {}", map.Name("nics"),
                                                       Printable(nic.name, 60)));
        }
      }
      SHARDPLAN_ASSIGN_OR_RETURN(nic.gbit_per_s, Rate(entry, "gbit_per_s", told_));
      SHARDPLAN_ASSIGN_OR_RETURN(const std::string protocol, entry.Text("protocol"));
      const auto known = kProtocols.find(protocol);
      if (known == kProtocols.end()) {
        return entry.Expected("protocol", *entry.Get("protocol"), "ethernet, roce or infiniband");
      }
      nic.protocol = known->second;
      if (entry.Has("numa")) {
        SHARDPLAN_ASSIGN_OR_RETURN(nic.numa_node, entry.Count("numa", kMostNumaNodes - 1));
      }
      size_t count = 1;
      if (entry.Has("count")) {
        SHARDPLAN_ASSIGN_OR_RETURN(count, entry.Count("count", kMostParts));
      }
      if (count < 1 || out_.kind.nics.size() + count > kMostParts) {
        return place_.Fail(entry.mark(), fmt::format("{}: expected 1 to {} ports a node",
                                                     map.Name("nics"), kMostParts));
      }
      if (count > 1 && !nic.name.empty()) {
        return entry.Expected("count", *entry.Get("count"), "1 port of that name");
      }
      out_.kind.nics.insert(out_.kind.nics.end(), count, nic);
    }
    return {};
  }

  Status ReadDisks(const Mapping& map) {
    if (!map.Has("disks")) return {};
    SHARDPLAN_ASSIGN_OR_RETURN(const auto disks, ListOf(map, "disks", kMostParts));
    for (const YAML::Node& node : disks) {
      SHARDPLAN_ASSIGN_OR_RETURN(DiskSpec disk, ReadDisk(place_, node, map.Name("disks"), told_));
      out_.kind.disks.push_back(std::move(disk));
    }
    return {};
  }

  Status ReadHost(const Mapping& map) {
    NodeKind& kind = out_.kind;
    if (map.Has("driver")) {
      SHARDPLAN_ASSIGN_OR_RETURN(kind.driver, map.Text("driver"));
      if (kind.driver.size() > 32 ||
          kind.driver.find_first_not_of("0123456789.") != std::string::npos) {
        return map.Expected("driver", *map.Get("driver"), "a version such as 580.159.04");
      }
    }
    SHARDPLAN_RETURN_IF_ERROR(OptionalCapacity(map, "memory", told_, &kind.memory));
    SHARDPLAN_RETURN_IF_ERROR(
        OptionalCapacity(map, "container_memory", told_, &kind.container_limit));
    SHARDPLAN_RETURN_IF_ERROR(OptionalCapacity(map, "shm", told_, &kind.shm));
    if (!map.Has("memlock")) return {};
    SHARDPLAN_ASSIGN_OR_RETURN(const YAML::Node memlock, map.Get("memlock"));
    if (memlock.IsScalar() && memlock.Scalar() == "unlimited") return {};
    return OptionalCapacity(map, "memlock", told_, &kind.memlock);
  }

  const Place& place_;
  Told told_;
  NodeYaml out_;
};

}  // namespace

Result<Told> Told::Read(const Mapping& map) {
  Told told;
  if (!map.Has("basis") && !map.Has("source") && !map.Has("date")) return told;
  SHARDPLAN_ASSIGN_OR_RETURN(told.basis, map.BasisOf("basis"));
  SHARDPLAN_ASSIGN_OR_RETURN(told.source, map.DatedSource());
  return told;
}

std::string Told::SourceAt(const Place& place, const YAML::Mark& mark) const {
  return source.empty() ? place.At(mark) : source;
}

Result<NodeYaml> ReadNodeKind(const Place& place, const YAML::Node& node, const std::string& name,
                              const Told& told) {
  return KindReader(place, told).Read(node, name);
}

Result<DiskSpec> ReadDisk(const Place& place, const YAML::Node& node, const std::string& name,
                          const Told& told) {
  static const std::vector<std::string> kKeys = {"path", "read_gb_per_s"};
  SHARDPLAN_ASSIGN_OR_RETURN(const Mapping map, Mapping::Read(place, node, name, kKeys));
  DiskSpec disk;
  if (map.Has("path")) {
    SHARDPLAN_ASSIGN_OR_RETURN(disk.path, map.Text("path"));
  }
  SHARDPLAN_ASSIGN_OR_RETURN(disk.read_gb_per_s, Rate(map, "read_gb_per_s", told));
  return disk;
}

}  // namespace shardplan::internal
