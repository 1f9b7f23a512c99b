#include "plan/host_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "shardplan/base/units.h"

namespace shardplan {
namespace {

// "--shm-size=1g --ulimit memlock=-1" is what NCCL's user guide asks of a container.
constexpr Bytes kSharedMemory(kGiB);

// SGLang leaves so much of a host alone (mem_cache/pool_host, 0bda0b168).
constexpr Bytes kSglangLeaves(10 * kGiB);

Bytes Pinned(const HostPlan& host, const HostRequest& request) {
  return host.pinned_allocated + request.kv_tier * request.ranks_per_node;
}

void AddRows(const HostRequest& request, const Plan& plan, HostPlan* host) {
  const auto add = [&](const char* name, Range bytes, Basis basis, std::string source,
                       bool reclaimable = false) {
    if (bytes.high > Bytes()) {
      host->rows.push_back({name, bytes, basis, std::move(source), reclaimable});
    }
  };
  add("pinned_weights", Range(host->pinned_allocated), Basis::kDerived,
      "offloaded tensors, each rounded up to a power of two by the pinned allocator");
  add("kv_tier", Range(request.kv_tier * request.ranks_per_node), Basis::kDerived,
      fmt::format("{} ranks × {} of the second cache", request.ranks_per_node,
                  FormatGiB(request.kv_tier, 2)));
  const int64_t n = request.ranks_per_node;
  const Range worker = WorkerMemory();
  add("workers", Range(worker.low * n, worker.central * n, worker.high * n), Basis::kAssumed,
      fmt::format("{} ranks × 1 to 6 GiB of process memory", n));
  add("shared_memory", Range(kSharedMemory), Basis::kAssumed,
      "/dev/shm for NCCL and the engine's queues: the 1 GiB that NCCL's guide asks for");
  for (const FilesPlan& files : plan.files) {
    if (files.node != host->node) continue;
    add("page_cache", Range(files.bytes), Basis::kExact,
        "shard files that pass through the page cache while loading", true);
  }
}

void TakeFacts(const ClusterSpec& cluster, HostPlan* host) {
  const NodeKind& kind = cluster.KindOf(host->node);
  host->name = cluster.NameOf(host->node);
  host->memory = kind.memory;
  if (const std::optional<Bytes> sum = kind.Memory(); sum && !host->memory) {
    host->memory = {Range(*sum), Basis::kDerived, "sum of its NUMA nodes"};
    for (const NumaSpec& numa : kind.numa) {
      host->memory->basis = Softer(host->memory->basis, numa.memory->basis);
    }
  }
  host->container_limit = kind.container_limit;
  host->shm = kind.shm;
  for (NumaBytes& numa : host->per_numa) {
    const NumaSpec* const spec = kind.FindNuma(static_cast<int>(numa.numa_node));
    if (spec != nullptr && spec->memory) numa.memory = spec->memory->bytes.central;
  }
}

class Checker {
 public:
  Checker(const HostRequest& request, const Plan& plan) : request_(request), plan_(plan) {}

  std::vector<Finding> Take() {
    for (const HostPlan& host : plan_.host) {
      if (request_.cluster == nullptr) continue;
      CheckNuma(host);
      CheckNode(host);
      CheckTier(host);
      CheckPageCache(host);
      CheckShm(host);
      CheckMemlock(host);
    }
    for (size_t i = 0; i < out_.size(); ++i) out_[i].subject = SubjectOf(told_[i]);
    TellNeeds();
    return std::move(out_);
  }

 private:
  // What a finding is about: nodes, and a part of each.
  struct Subject {
    std::vector<std::string> hosts;
    std::string part;
  };

  static std::string SubjectOf(const Subject& subject) {
    constexpr size_t kMost = 4;  // names that are told
    std::string out = subject.hosts.front();
    const size_t count = subject.hosts.size();
    const size_t shown = count <= kMost ? count : kMost - 1;
    for (size_t i = 1; i < shown; ++i) {
      out += (i + 1 == count ? " and " : ", ") + subject.hosts[i];
    }
    if (shown < count) out += fmt::format(" and {} more", count - shown);
    return subject.part.empty() ? out : out + ", " + subject.part;
  }

  // Nodes that are alike say the same: once is enough, for all of them.
  void Add(const char* id, Severity severity, const HostPlan& host, std::string_view part,
           std::string message, std::string fix) {
    for (size_t i = 0; i < out_.size(); ++i) {
      if (out_[i].id != id || out_[i].message != message || told_[i].part != part) continue;
      if (told_[i].hosts.back() != host.name) told_[i].hosts.push_back(host.name);
      return;
    }
    out_.push_back({id, severity, "", std::move(message), std::move(fix)});
    told_.push_back({{host.name}, std::string(part)});
  }

  int64_t RanksOn(const HostPlan& host, const NumaBytes& numa) const {
    return std::count_if(plan_.ranks.begin(), plan_.ranks.end(), [&](const RankPlan& rank) {
      return rank.place.node == host.node && rank.numa_node == numa.numa_node;
    });
  }

  void CheckNuma(const HostPlan& host) {
    for (const NumaBytes& numa : host.per_numa) {
      if (!numa.memory) continue;
      const int64_t ranks = RanksOn(host, numa);
      const Bytes pinned = numa.allocated + request_.kv_tier * ranks;
      const Bytes all = pinned + WorkerMemory().central * ranks;
      const std::string part = fmt::format("NUMA node {}", numa.numa_node);
      if (pinned <= *numa.memory) {
        if (!request_.bound || pinned == Bytes() || all <= *numa.memory) continue;
        Add("host.numa_memory", Severity::kWarning, host, part,
            fmt::format("{} pinned and about {} of {} processes are more than the {} of a NUMA "
                        "node; --numa-bind takes none from another node",
                        FormatGiB(pinned, 1), FormatGiB(all - pinned, 1), ranks,
                        FormatGiB(*numa.memory, 1)),
            "offload less, or leave --numa-bind out (slower: weights on the other socket)");
        continue;
      }
      const std::string message =
          fmt::format("{} of pinned {} on a NUMA node of {}: {} too much", FormatGiB(pinned, 1),
                      request_.kv_tier == Bytes() ? "weights" : "memory",
                      FormatGiB(*numa.memory, 1), FormatGiB(pinned - *numa.memory, 1));
      if (request_.bound) {
        Add("host.numa_memory", Severity::kError, host, part,
            message + "; --numa-bind takes none from another node, the kernel kills the worker",
            "offload less, or leave --numa-bind out (slower: weights on the other socket)");
      } else {
        Add("host.numa_memory", Severity::kWarning, host, part,
            message + "; the rest lies on another node, and is read over the socket link",
            "offload less, or spread the cards that offload over NUMA nodes");
      }
    }
  }

  void CheckNode(const HostPlan& host) {
    CheckLimit(host, host.memory, "host.node_memory", "of memory",
               "offload less, or more memory in the node");
    CheckLimit(host, host.container_limit, "host.container_memory", "that the container may take",
               "raise the container's memory limit: pinned pages count against the cgroup");
  }

  void CheckLimit(const HostPlan& host, const std::optional<SourcedBytes>& limit, const char* id,
                  std::string_view what, const char* fix) {
    if (!limit) return;
    const Bytes pinned = Pinned(host, request_);
    Bytes all;
    for (const HostRow& row : host.rows) {
      if (!row.reclaimable) all += row.bytes.central;
    }
    const Bytes most = limit->bytes.central;
    if (pinned > most) {
      Add(id, Severity::kError, host, "",
          fmt::format("{} are pinned on a node with {} {}: {} too much", FormatGiB(pinned, 1),
                      FormatGiB(most, 1), what, FormatGiB(pinned - most, 1)),
          fix);
    } else if (all > most) {
      Add(id, Severity::kWarning, host, "",
          fmt::format("{} pinned and about {} of processes and shared memory are more than the {} "
                      "{}",
                      FormatGiB(pinned, 1), FormatGiB(all - pinned, 1), FormatGiB(most, 1), what),
          fix);
    }
  }

  void CheckTier(const HostPlan& host) {
    if (!request_.is_sglang || request_.kv_tier == Bytes()) return;
    const std::optional<SourcedBytes>& limit =
        host.container_limit ? host.container_limit : host.memory;
    if (!limit) return;
    const Bytes tier = request_.kv_tier * request_.ranks_per_node;
    const Bytes left = limit->bytes.central - host.pinned_allocated - kSglangLeaves;
    if (tier <= left) return;
    Add("host.kv_tier", Severity::kError, host, "--enable-hierarchical-cache",
        fmt::format("{} ranks ask for {} of host memory each: SGLang refuses more than their "
                    "share of what is free less 10 GiB, {} here",
                    request_.ranks_per_node, FormatGiB(request_.kv_tier, 1),
                    FormatGiB(std::max(left, Bytes()), 1)),
        "a smaller --hicache-size or --hicache-ratio");
  }

  // Only where it has to be given back while loading goes on.
  void CheckPageCache(const HostPlan& host) {
    const std::optional<SourcedBytes>& limit =
        host.container_limit ? host.container_limit : host.memory;
    const auto files = std::find_if(host.rows.begin(), host.rows.end(),
                                    [](const HostRow& row) { return row.reclaimable; });
    if (!limit || files == host.rows.end()) return;
    const Bytes left = limit->bytes.central - Pinned(host, request_);
    if (files->bytes.central <= left || left < Bytes()) return;
    Add("host.page_cache", Severity::kNote, host, "loading",
        fmt::format("{} of shard files do not stay in the {} that pinned memory leaves{}: a second "
                    "start reads them from disk again",
                    FormatGiB(files->bytes.central, 1), FormatGiB(left, 1),
                    host.container_limit ? " of the container's limit, against which Kubernetes "
                                           "counts the page cache (reclaimable)"
                                         : ""),
        "");
  }

  void CheckShm(const HostPlan& host) {
    if (!host.shm || request_.ranks_per_node < 2 || host.shm->bytes.central >= kSharedMemory) {
      return;
    }
    Add("host.shm", Severity::kWarning, host, "/dev/shm",
        fmt::format("{} of shared memory for {} ranks: NCCL's guide asks for 1 GiB, and the "
                    "engine's message queues lie there; what does not fit ends in a bus error",
                    FormatAuto(host.shm->bytes.central), request_.ranks_per_node),
        "--shm-size=1g or more, --ipc=host, or an emptyDir of medium Memory on /dev/shm");
  }

  // What CUDA pins was not counted as locked on a measured host (VmLck and VmPin stay 0, driver
  // 580.159); what a network port registers is.
  void CheckMemlock(const HostPlan& host) {
    const NodeKind& kind = request_.cluster->KindOf(host.node);
    if (!kind.memlock) return;
    const bool rdma =
        request_.network && std::any_of(kind.nics.begin(), kind.nics.end(), [](const NicSpec& n) {
          return n.protocol && *n.protocol != NicProtocol::kEthernet;
        });
    const Bytes pinned = Pinned(host, request_);
    const Bytes limit = kind.memlock->bytes.central;
    if (!rdma && pinned <= limit) return;
    Add("host.memlock", Severity::kWarning, host, "memlock",
        rdma ? fmt::format("locked memory is limited to {}: buffers that RDMA ports register count "
                           "against it, and NCCL fails or falls back to sockets",
                           FormatAuto(limit))
             : fmt::format("locked memory is limited to {} and {} are pinned: CUDA's own pinning "
                           "was not counted on the host that was measured, other ways of locking "
                           "are",
                           FormatAuto(limit), FormatGiB(pinned, 1)),
        "--ulimit memlock=-1 (LimitMEMLOCK=infinity), as NCCL's guide asks for");
  }

  // Without facts the need is told where there is one.
  void TellNeeds() {
    const auto most = std::max_element(plan_.host.begin(), plan_.host.end(),
                                       [&](const HostPlan& a, const HostPlan& b) {
                                         return Pinned(a, request_) < Pinned(b, request_);
                                       });
    if (most == plan_.host.end() || Pinned(*most, request_) == Bytes() || most->memory ||
        most->container_limit) {
      return;
    }
    std::string numa;
    if (most->per_numa.size() > 1 && most->pinned_allocated > Bytes()) {
      const auto fullest = std::max_element(
          most->per_numa.begin(), most->per_numa.end(),
          [](const NumaBytes& a, const NumaBytes& b) { return a.allocated < b.allocated; });
      numa =
          fmt::format(", {} on NUMA node {}", FormatGiB(fullest->allocated, 1), fullest->numa_node);
    }
    out_.push_back({"host.needs", Severity::kNote, "host memory",
                    fmt::format("a node needs {} that stay pinned{}, beside processes and the page "
                                "cache; what the nodes have is not known",
                                FormatGiB(Pinned(*most, request_), 1), numa),
                    "--cluster FILE with the nodes' memory checks it"});
  }

  const HostRequest& request_;
  const Plan& plan_;
  std::vector<Finding> out_;
  std::vector<Subject> told_;  // one for each of out_, until the end
};

}  // namespace

// Anonymous memory of a vLLM worker: 1.07 GiB in the kernel's report of a killed one
// (wtdcode/vllm-backport issue 68); API server, scheduler and tokenizers come on top.
Range WorkerMemory() { return Range(Bytes(kGiB), Bytes(2 * kGiB), Bytes(6 * kGiB)); }

void CheckHostMemory(const HostRequest& request, Plan* plan) {
  for (HostPlan& host : plan->host) {
    AddRows(request, *plan, &host);
    if (request.cluster != nullptr) TakeFacts(*request.cluster, &host);
  }
  std::vector<Finding> findings = Checker(request, *plan).Take();
  if (HasError(findings)) {
    plan->verdict = plan->verdict_low = plan->verdict_high = Verdict::kDoesNotFit;
  }
  for (Finding& finding : findings) plan->findings.push_back(std::move(finding));
}

}  // namespace shardplan
