#include "launch/kubernetes/budget.h"

#include <fmt/format.h>

#include <algorithm>

#include "shardplan/base/units.h"

namespace shardplan::kubernetes {
namespace {

constexpr int64_t kShared = 32 * kGiB;        // assumed
constexpr int64_t kShardUnknown = 16 * kGiB;  // assumed where there are no headers

Bytes LargestShard(const Model& model) {
  Bytes largest;
  for (const ShardInfo& shard : model.inventory.shards)
    largest = std::max(largest, shard.file_bytes);
  return largest;
}

}  // namespace

Bytes ShmSize(const Options& options) { return options.shm_size.value_or(Bytes(kShared)); }

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
  for (BudgetTerm& term : budget.terms) term.pinned = true;
  add("/dev/shm when it is full", ShmSize(options), !options.shm_size.has_value());
  add(fmt::format("worker processes, {} × {}", gpus, FormatGiB(Bytes(kHostBytesPerRank), 0)),
      Bytes(kHostBytesPerRank) * gpus, true);
  add("API server and scheduler", Bytes(kHostBytesPerNode), true);
  const Bytes shard = LargestShard(input.model);
  const bool known = shard > Bytes();
  add("page cache while loading, two shard files", (known ? shard : Bytes(kShardUnknown)) * 2,
      !known);
  Bytes sum;
  for (const BudgetTerm& term : budget.terms) sum += term.bytes;
  add("margin, a tenth", Bytes(sum.count() / 10), true);
  sum += Bytes(sum.count() / 10);
  budget.total = budget.needed = Bytes(RoundUp(sum.count(), kGiB));
  if (options.memory) {
    budget.total = *options.memory;
    budget.given = true;
  }
  return budget;
}

StartupEstimate EstimateStartup(const LaunchInput& input, const Options& options) {
  StartupEstimate out;
  for (const LaunchPlan& launch : input.plan.launch) {
    StartEstimate node = EstimateStart(input.plan, launch.node, options.read_rate);
    if (node.load_seconds > out.slowest.load_seconds) out.slowest = std::move(node);
  }
  out.given = options.startup_seconds.has_value();
  out.seconds = options.startup_seconds.value_or(out.slowest.seconds);
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
  const StartEstimate& node = startup.slowest;
  std::string out =
      fmt::format("A node reads {}\n{} ({}):\n{} s at least.\n", FormatGiB(node.bytes, 1),
                  node.source, node.assumed ? "assumed" : "given", FormatCount(node.load_seconds));
  const std::string seconds = FormatCount(startup.seconds);
  out += startup.given ? fmt::format("The engine may take {} s to start, as given.\n", seconds)
                       : fmt::format(
                             "The engine may take {} s to start: twice that, and {} s to compile\n"
                             "and warm up (assumed).\n",
                             seconds, kSecondsAfterLoading);
  return out;
}

}  // namespace shardplan::kubernetes
