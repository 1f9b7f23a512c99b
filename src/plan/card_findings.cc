#include "plan/card_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

// Less is what an idle driver shows.
constexpr Bytes kNoticeable(128 * kMiB);

class Finder {
 public:
  Finder(const PlacementRequest& request, const Plan& plan) : r_(request), plan_(plan) {}

  std::vector<Finding> Take() {
    if (r_.cluster == nullptr) return {};
    FindMixedCards();
    for (int64_t node = 0; node < plan_.nodes; ++node) {
      const NodeKind& kind = r_.cluster->KindOf(node);
      FindInUse(kind, node);
      FindMemory(kind, node);
    }
    FindDrivers();
    FindBinding();
    return std::move(out_);
  }

 private:
  void Add(const char* id, Severity severity, std::string subject, std::string message,
           std::string fix) {
    AddOnce({id, severity, std::move(subject), std::move(message), std::move(fix)}, &out_);
  }

  // Cards of a node that hold ranks.
  size_t Used(const NodeKind& kind) const {
    return std::min(kind.cards.size(), static_cast<size_t>(r_.place->ranks_per_node));
  }

  void FindMixedCards() {
    std::map<std::string, Bytes> visible;  // of each card that holds a rank
    for (int64_t node = 0; node < plan_.nodes; ++node) {
      const NodeKind& kind = r_.cluster->KindOf(node);
      std::set<std::string> names;
      for (size_t i = 0; i < kind.cards.size(); ++i) {
        const bool same = i > 0 && kind.cards[i].gpu == kind.cards[i - 1].gpu &&
                          !kind.cards[i].cuda_visible && !kind.cards[i].device_total;
        if (same) continue;
        const Result<GpuSpec> gpu = ResolveCard(*r_.catalog, kind.cards[i]);
        if (!gpu) continue;
        names.insert(gpu->name);
        if (i >= Used(kind)) continue;  // no rank: it decides nothing
        const Bytes bytes = gpu->cuda_visible.bytes.central;
        const auto [at, is_new] = visible.emplace(gpu->name, bytes);
        if (!is_new) at->second = std::min(at->second, bytes);
      }
      if (names.size() > 1) {
        Add("placement.device_order", Severity::kWarning, r_.cluster->NameOf(node),
            fmt::format("different cards in one node ({}): CUDA numbers them by speed, nvidia-smi "
                        "by bus, and {} asks for one order",
                        fmt::join(names, ", "), plan_.engine == "sglang" ? "SGLang" : "vLLM"),
            "CUDA_DEVICE_ORDER=PCI_BUS_ID in the environment, and CUDA_VISIBLE_DEVICES by UUID");
      }
    }
    if (visible.size() < 2) return;
    std::string all;
    for (const auto& [name, bytes] : visible) {
      all += fmt::format("{}{} with {}", all.empty() ? "" : ", ", Printable(name, 40),
                         FormatGiB(bytes, 2));
    }
    Add("placement.mixed_cards", Severity::kWarning, "cards",
        fmt::format("{}: every rank is planned as on the smallest, {} with {}", all,
                    Printable(r_.gpu->name, 40), FormatGiB(r_.gpu->cuda_visible.bytes.central, 2)),
        "nodes of one kind together: --nodes N takes the first N of the cluster");
  }

  // What was read on cards that are to be used.
  void FindInUse(const NodeKind& kind, int64_t node) {
    Bytes most;
    size_t worst = 0;
    for (size_t i = 0; i < Used(kind); ++i) {
      if (kind.cards[i].mig) {
        Add("placement.mig", Severity::kWarning, r_.cluster->NameOf(node),
            fmt::format("card {} is divided into MIG instances: engines see an instance, not the "
                        "card",
                        i),
            "nvidia-smi -mig 0, or plan the instance as a card of its own");
      }
      if (kind.cards[i].in_use <= most) continue;
      most = kind.cards[i].in_use;
      worst = i;
    }
    if (most < kNoticeable || most <= r_.in_use) return;
    Add("placement.memory_in_use", Severity::kWarning, r_.cluster->NameOf(node),
        fmt::format("nvidia-smi showed {} in use on card {}: the plan counts {}", FormatMiB(most),
                    worst, FormatMiB(r_.in_use)),
        fmt::format("end what runs there, or --gpu-memory-in-use {}MiB", most.count() / kMiB));
  }

  // A NUMA node with cards and without memory of its own.
  void FindMemory(const NodeKind& kind, int64_t node) {
    for (const NumaSpec& numa : kind.numa) {
      if (!numa.memory || numa.memory->bytes.central > Bytes()) continue;
      std::vector<int64_t> cards;
      for (size_t i = 0; i < Used(kind); ++i) {
        if (kind.cards[i].numa_node == numa.node) cards.push_back(static_cast<int64_t>(i));
      }
      if (cards.empty()) continue;
      Add("placement.numa_without_memory", Severity::kWarning, r_.cluster->NameOf(node),
          fmt::format("NUMA node {} has cards {} and no memory: what they keep in host memory lies "
                      "on another socket{}",
                      numa.node, fmt::join(cards, ", "),
                      r_.bound ? ", and --numa-bind leaves their workers none" : ""),
          "memory modules on both sockets, or no --numa-bind and no offload from these cards");
    }
  }

  void FindDrivers() {
    if (r_.drivers == nullptr) return;
    const DriverTable::Image* const image = r_.drivers->ImageOf(plan_.engine, plan_.engine_version);
    if (image == nullptr) return;
    const DriverTable::Toolkit& toolkit = *r_.drivers->ToolkitOf(image->cuda);
    for (int64_t node = 0; node < plan_.nodes; ++node) {
      const std::string& driver = r_.driver.empty() ? r_.cluster->KindOf(node).driver : r_.driver;
      if (driver.empty() || CompareDotted(driver, toolkit.driver) >= 0) continue;
      const bool dead = CompareDotted(driver, toolkit.oldest) < 0;
      const std::string with = fmt::format("{} {} is built with CUDA {} ({})",
                                           plan_.engine == "sglang" ? "SGLang" : "vLLM",
                                           plan_.engine_version, image->cuda, image->source);
      Add("placement.driver", Severity::kWarning, r_.cluster->NameOf(node),
          dead ? fmt::format("driver {} is older than {}, the oldest that runs CUDA {}: {}", driver,
                             toolkit.oldest, image->cuda, with)
               : fmt::format(
                     "driver {} is older than {}, which came with the toolkit: {}, and "
                     "kernels that ship as PTX (Marlin) end in cudaErrorUnsupportedPtxVersion",
                     driver, toolkit.driver, with),
          fmt::format("driver {} or newer, or an image built with an older CUDA", toolkit.driver));
    }
  }

  // Pinned weights on one socket and cards on the other, unless ranks are bound.
  void FindBinding() {
    if (!r_.can_bind || r_.bound || !r_.place->numa_told) return;
    const bool pinned = std::any_of(plan_.ranks.begin(), plan_.ranks.end(),
                                    [](const RankPlan& r) { return r.pinned_allocated > Bytes(); });
    if (!pinned) return;
    for (int64_t node = 0; node < plan_.nodes; ++node) {
      std::vector<int> numa = r_.place->NumaOf(node);
      numa.resize(static_cast<size_t>(r_.place->ranks_per_node));
      if (std::set<int>(numa.begin(), numa.end()).size() < 2) continue;
      Add("placement.numa_bind", Severity::kNote, r_.cluster->NameOf(node),
          "weights are pinned in host memory and ranks are not bound: a worker may keep them on "
          "the "
          "other socket",
          fmt::format("--numa-bind, with --numa-bind-nodes {} here", fmt::join(numa, " ")));
    }
  }

  const PlacementRequest& r_;
  const Plan& plan_;
  std::vector<Finding> out_;
};

}  // namespace

std::vector<Finding> CardFindings(const PlacementRequest& request, const Plan& plan) {
  return Finder(request, plan).Take();
}

}  // namespace shardplan
