#include "launch/kubernetes/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "shardplan/base/units.h"

namespace shardplan::kubernetes {
namespace {

// Assumptions, each told where it counts.
constexpr int64_t kWorkerProcess = 4 * kGiB;  // Python, CUDA and NCCL of one rank
constexpr int64_t kServer = 8 * kGiB;         // API server, scheduler, tokenizers
constexpr int64_t kShardUnknown = 16 * kGiB;  // without headers
constexpr int64_t kReadRate = kGiB;           // a second, of one node from a shared filesystem
constexpr int64_t kWarmUpSeconds = 600;

// /dev/shm of one rank. vLLM's documents ask for --ipc=host or a large --shm-size; SGLang's for 32g
// on 8.
int64_t ShmPerRank(const std::string& engine) { return (engine == "sglang" ? 4 : 2) * kGiB; }

Bytes LargestShard(const Model& model) {
  Bytes largest;
  for (const ShardInfo& shard : model.inventory.shards)
    largest = std::max(largest, shard.file_bytes);
  return largest;
}

}  // namespace

Bytes ShmSize(const Plan& plan, const Options& options, int64_t gpus) {
  if (options.shm_size) return *options.shm_size;
  return Bytes(std::max<int64_t>(4 * kGiB, gpus * ShmPerRank(plan.engine)));
}

HostBudget MakeHostBudget(const LaunchInput& input, const Options& options, int64_t gpus) {
  const Plan& plan = input.plan;
  HostBudget budget;
  const auto add = [&](std::string what, Bytes bytes, bool assumed) {
    if (bytes > Bytes()) budget.terms.push_back({std::move(what), bytes, assumed});
  };
  Bytes pinned;
  for (const HostPlan& host : plan.host) pinned = std::max(pinned, host.pinned_allocated);
  add("offloaded weights, pinned, as the allocator takes them", pinned, false);
  if (plan.static_memory && plan.static_memory->host_cache) {
    add("second cache in host memory", plan.static_memory->host_cache->per_node, false);
  }
  add("/dev/shm when it is full", ShmSize(plan, options, gpus), !options.shm_size.has_value());
  add(fmt::format("worker processes, {} × {}", gpus, FormatGiB(Bytes(kWorkerProcess), 0)),
      Bytes(kWorkerProcess) * gpus, true);
  add("API server and scheduler", Bytes(kServer), true);
  const Bytes shard = LargestShard(input.model);
  const bool known = shard > Bytes();
  add("page cache while loading, two shard files", (known ? shard : Bytes(kShardUnknown)) * 2,
      !known);
  Bytes sum;
  for (const BudgetTerm& term : budget.terms) sum += term.bytes;
  add("margin, a tenth", Bytes(sum.count() / 10), true);
  sum += Bytes(sum.count() / 10);
  budget.total = Bytes(RoundUp(sum.count(), kGiB));
  if (options.memory) {
    budget.total = *options.memory;
    budget.given = true;
  }
  return budget;
}

StartupEstimate EstimateStartup(const LaunchInput& input, const Options& options) {
  StartupEstimate out;
  for (const FilesPlan& files : input.plan.files) {
    out.from_files = true;
    out.bytes = std::max(out.bytes, files.bytes);
  }
  if (!out.from_files) {
    std::map<int64_t, Bytes> nodes;
    for (const RankPlan& rank : input.plan.ranks) {
      nodes[rank.place.node] += rank.weights + rank.offloaded;
    }
    for (const auto& [node, bytes] : nodes) out.bytes = std::max(out.bytes, bytes);
  }
  out.rate_given = options.read_rate.has_value();
  out.rate = options.read_rate.value_or(Bytes(kReadRate));
  out.load_seconds = CeilDiv(out.bytes.count(), std::max<int64_t>(1, out.rate.count()));
  out.given = options.startup_seconds.has_value();
  out.seconds = options.startup_seconds.value_or(2 * out.load_seconds + kWarmUpSeconds);
  return out;
}

std::string Describe(const HostBudget& budget) {
  std::string out = budget.given ? "Memory as given. What the plan would ask for:\n"
                                 : "Memory of the container, page cache counted:\n";
  for (const BudgetTerm& term : budget.terms) {
    out += fmt::format("  {:>12}  {}{}\n", FormatGiB(term.bytes, 1), term.what,
                       term.assumed ? " (assumed)" : "");
  }
  return out;
}

std::string Describe(const StartupEstimate& startup) {
  std::string out = fmt::format(
      "A node reads {} of {}:\n{} s at {} a second ({}).\n", FormatGiB(startup.bytes, 1),
      startup.from_files ? "shard files" : "weights (no shard headers were there)",
      FormatCount(startup.load_seconds), FormatAuto(startup.rate),
      startup.rate_given ? "given" : "assumed");
  const std::string seconds = FormatCount(startup.seconds);
  out += startup.given ? fmt::format("The engine may take {} s to start, as given.\n", seconds)
                       : fmt::format(
                             "The engine may take {} s to start: twice that, and {} s to compile\n"
                             "and warm up (assumed).\n",
                             seconds, kWarmUpSeconds);
  return out;
}

}  // namespace shardplan::kubernetes
