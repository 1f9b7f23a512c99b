#include "plan/link_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

// A set of ranks that work on one thing together.
struct Group {
  std::string name;
  std::vector<const RankPlan*> ranks;
  std::set<int64_t> nodes;
};

std::string Names(const std::set<int64_t>& numbers) {
  return fmt::format("{}", fmt::join(numbers, ", "));
}

class Finder {
 public:
  Finder(const PlacementRequest& request, const Plan& plan) : r_(request), plan_(plan) {}

  std::vector<Finding> Take() {
    MakeGroups();
    FindDomains();
    FindSharedNodes();
    FindExperts();
    FindReplicas();
    FindPorts();
    TellLinks();
    return std::move(out_);
  }

 private:
  void Add(const char* id, Severity severity, std::string subject, std::string message,
           std::string fix) {
    AddOnce({id, severity, std::move(subject), std::move(message), std::move(fix)}, &out_);
  }

  void MakeGroups() {
    const int64_t tp = plan_.sizes.tp;
    for (const RankPlan& rank : plan_.ranks) {
      const auto index = static_cast<size_t>(rank.place.rank / tp);
      if (groups_.size() <= index) groups_.resize(index + 1);
      Group& group = groups_[index];
      group.name = fmt::format("TP group of stage {}", rank.place.stage);
      if (plan_.sizes.dp > 1 && !plan_.sizes.dp_in_tp) {
        group.name += fmt::format(", DP rank {}", rank.place.dp_rank);
      }
      group.ranks.push_back(&rank);
      group.nodes.insert(rank.place.node);
    }
  }

  const NodeKind* KindOf(int64_t node) const {
    return r_.cluster == nullptr ? nullptr : &r_.cluster->KindOf(node);
  }

  // The set of cards of its node that NVLink joins the rank's card to; -1 for none.
  int DomainOf(const RankPlace& place) const {
    const NodeKind* const kind = KindOf(place.node);
    if (kind != nullptr) {
      const std::optional<int>& told = kind->cards[static_cast<size_t>(place.gpu)].nvlink_group;
      if (told) return *told;
    }
    return r_.gpu->nvlink_gb_per_s > 0 ? 0 : -1;
  }

  // Groups inside a node whose cards NVLink does not join all.
  void FindDomains() {
    for (const Group& group : groups_) {
      if (group.nodes.size() > 1 || group.ranks.size() < 2) continue;
      std::map<int, std::vector<int64_t>> domains;
      for (const RankPlan* const rank : group.ranks) {
        domains[DomainOf(rank->place)].push_back(rank->place.gpu);
      }
      const bool joined = domains.size() == 1 && domains.begin()->first >= 0;
      if (joined) continue;
      const bool pairs = domains.rbegin()->first >= 0;
      if (pairs) {
        std::string sets;
        for (const auto& [domain, cards] : domains) {
          sets += fmt::format("{}{}{}", sets.empty() ? "" : " | ", fmt::join(cards, ","),
                              domain < 0 ? " by PCIe" : "");
        }
        Add("placement.tp_domains", Severity::kWarning, group.name,
            fmt::format("NVLink joins cards {}, not all {} of the group: every layer's all-reduce "
                        "crosses PCIe",
                        sets, group.ranks.size()),
            "TP inside an NVLink domain, pipeline stages between them");
      }
      if (group.ranks.size() > 2 && r_.custom_all_reduce) {
        Add("placement.pcie_all_reduce", Severity::kWarning, group.name,
            fmt::format("{} would say: Custom allreduce is disabled because it's not supported on "
                        "more than two PCIe-only GPUs; all-reduce goes through NCCL",
                        plan_.engine == "sglang" ? "SGLang" : "vLLM"),
            "--disable-custom-all-reduce says that it is meant; TP 2 with more stages keeps it");
      }
    }
  }

  // A group that spans nodes and has not all of them to itself.
  void FindSharedNodes() {
    const bool told =
        std::any_of(plan_.findings.begin(), plan_.findings.end(),
                    [](const Finding& finding) { return finding.id == "layout.stage_straddles"; });
    if (told) return;
    for (const Group& group : groups_) {
      if (group.nodes.size() < 2) continue;
      for (const Group& other : groups_) {
        if (&other == &group) continue;
        std::set<int64_t> shared;
        std::set_intersection(group.nodes.begin(), group.nodes.end(), other.nodes.begin(),
                              other.nodes.end(), std::inserter(shared, shared.begin()));
        if (shared.empty()) continue;
        Add("placement.shared_node", Severity::kWarning, group.name,
            fmt::format("lies on nodes {} and shares node {} with the {}: both wait for the same "
                        "network ports",
                        Names(group.nodes), Names(shared), other.name),
            "choose TP and the number of nodes so that a stage has its nodes to itself");
        return;
      }
    }
  }

  // Ranks that hold the experts of one stage.
  std::set<int64_t> ExpertNodes() const {
    std::set<int64_t> nodes;
    for (const RankPlan& rank : plan_.ranks) {
      if (rank.place.stage == 0) nodes.insert(rank.place.node);
    }
    return nodes;
  }

  void FindExperts() {
    const ParallelSizes& s = plan_.sizes;
    const bool replicas = s.dp > 1 && !s.dp_in_tp;
    // Without experts of several engines, their sums are the TP group's all-reduce.
    const bool spread = plan_.engine == "vllm" ? s.expert_parallel || replicas : s.ep() > 1;
    if (!r_.has_experts || !spread) return;
    std::set<int64_t> nodes = ExpertNodes();
    if (plan_.engine != "vllm") nodes = groups_.empty() ? nodes : groups_[0].nodes;
    if (nodes.size() < 2) return;
    const std::string where =
        s.ep() > 1 ? fmt::format("EP {} lies over nodes {}", s.ep(), Names(nodes))
                   : fmt::format("slices of the experts lie over nodes {} (DP × TP)", Names(nodes));
    Add("placement.experts_across_nodes", Severity::kNote,
        s.ep() > 1 ? "expert parallel" : "experts",
        fmt::format("{}: {} over the network", where, Exchange()), "");
  }

  std::string_view Exchange() const {
    switch (r_.exchange) {
      case ExpertExchange::kAllReduce:
        return "ranks have all tokens, and the all-reduce after every MoE layer goes";
      case ExpertExchange::kGather:
        return "an all-gather before and a reduce-scatter after every MoE layer go";
      case ExpertExchange::kDispatch:
        break;
    }
    return "dispatch and combine of every MoE layer (tokens to their experts and back) go";
  }

  void FindReplicas() {
    const ParallelSizes& s = plan_.sizes;
    if (s.dp < 2 || s.dp_in_tp) return;
    std::set<int64_t> nodes;
    for (const RankPlan& rank : plan_.ranks) nodes.insert(rank.place.node);
    const bool shared = r_.has_experts && plan_.engine == "vllm";
    if (nodes.size() < 2 || shared) return;
    Add("placement.data_parallel_across_nodes", Severity::kNote, fmt::format("DP {}", s.dp),
        fmt::format("replicas lie over nodes {} and exchange no activations: only requests are "
                    "routed over the network",
                    Names(nodes)),
        "");
  }

  // What crosses the network at every layer, in words; empty where nothing does.
  std::string Crossing() const {
    for (const Group& group : groups_) {
      if (group.nodes.size() > 1) return "every layer's all-reduce";
    }
    for (const Finding& finding : out_) {
      if (finding.id == "placement.experts_across_nodes") return "every MoE layer's exchange";
    }
    return "";
  }

  void FindPorts() {
    if (r_.cluster == nullptr || plan_.nodes < 2) return;
    const std::string crossing = Crossing();
    for (int64_t node = 0; node < plan_.nodes; ++node) {
      const NodeKind& kind = *KindOf(node);
      if (kind.nics.empty() || r_.gpu->nvlink_domain > plan_.gpus_per_node) continue;
      const std::string name = r_.cluster->NameOf(node);
      if (!crossing.empty() && kind.nics.size() == 1) {
        const SourcedRate& rate = kind.nics[0].gbit_per_s;
        Add("placement.single_nic", Severity::kWarning, name,
            fmt::format("{} of {} cards goes through one network port{}", crossing,
                        r_.place->ranks_per_node,
                        rate.value > 0 ? fmt::format(" of {:g} Gb/s, {:g} for each", rate.value,
                                                     rate.value / static_cast<double>(
                                                                      r_.place->ranks_per_node))
                                       : ""),
            "keep TP and experts inside a node, or a port for each card or two");
      }
      const bool plain = std::all_of(kind.nics.begin(), kind.nics.end(), [](const NicSpec& nic) {
        return nic.protocol && *nic.protocol == NicProtocol::kEthernet;
      });
      if (!crossing.empty() && plain) {
        Add("placement.ethernet", Severity::kWarning, name,
            fmt::format("{} takes TCP: no port does RDMA (RoCE or InfiniBand), every transfer is "
                        "copied through host memory",
                        crossing),
            "pipeline stages across nodes move least");
      }
      FindSockets(kind, node, name);
    }
  }

  // Cards whose NUMA node has no port.
  void FindSockets(const NodeKind& kind, int64_t node, const std::string& name) {
    std::set<int> with_port;
    for (const NicSpec& nic : kind.nics) {
      if (!nic.numa_node) return;
      with_port.insert(*nic.numa_node);
    }
    const bool told = kind.NumaOfCards().has_value();
    if (!told && !r_.place->numa_known) return;
    std::set<int64_t> far;
    std::set<int64_t> numa;
    for (const RankPlan& rank : plan_.ranks) {
      if (rank.place.node != node) continue;
      if (with_port.contains(static_cast<int>(rank.numa_node))) continue;
      far.insert(rank.place.gpu);
      numa.insert(rank.numa_node);
    }
    if (far.empty()) return;
    Add("placement.nic_socket", Severity::kWarning, name,
        fmt::format(
            "cards {} are on NUMA node {}{}, where no network port is: what they send to other "
            "nodes crosses the link between sockets",
            Names(far), Names(numa),
            told ? "" : fmt::format(" by the usual wiring of {} cards", plan_.gpus_per_node)),
        "a port on each socket, or the ranks that talk over the network on the cards beside it");
  }

  // Rates are what links can carry.
  void TellLinks() {
    if (r_.cluster == nullptr) return;
    std::set<std::string> facts;
    for (int64_t node = 0; node < plan_.nodes; ++node) {
      const NodeKind& kind = *KindOf(node);
      if (!kind.nvlink_link.empty()) facts.insert(Printable(kind.nvlink_link, 16));
      std::map<std::string, int> ports;
      for (const NicSpec& nic : kind.nics) {
        if (nic.gbit_per_s.value <= 0) continue;
        ++ports[fmt::format("{:g} Gb/s{}", nic.gbit_per_s.value,
                            nic.protocol ? fmt::format(" {}", ToString(*nic.protocol)) : "")];
      }
      for (const auto& [port, count] : ports) facts.insert(fmt::format("{} × {}", count, port));
    }
    if (facts.empty()) return;
    Add("placement.link_facts", Severity::kNote, "links",
        fmt::format("{}: what the links can carry, not measured throughput",
                    fmt::join(facts, ", ")),
        "nccl-tests' all_reduce_perf measures it");
  }

  const PlacementRequest& r_;
  const Plan& plan_;
  std::vector<Group> groups_;
  std::vector<Finding> out_;
};

}  // namespace

std::vector<Finding> LinkFindings(const PlacementRequest& request, const Plan& plan) {
  return Finder(request, plan).Take();
}

}  // namespace shardplan
