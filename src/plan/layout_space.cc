#include "plan/layout_space.h"

#include <algorithm>
#include <utility>

namespace shardplan {
namespace {

std::vector<int64_t> DivisorsOf(int64_t number) {
  std::vector<int64_t> divisors;
  for (int64_t d = 1; d <= number; ++d) {
    if (number % d == 0) divisors.push_back(d);
  }
  return divisors;
}

// `values`, or the given one, where there is one.
std::vector<int64_t> Choices(bool is_given, int64_t given, std::vector<int64_t> values) {
  if (is_given) return {given};
  return values;
}

class Space {
 public:
  Space(const Deployment& base, const GivenSizes& given, const Architecture& arch, int64_t per_node)
      : base_(base), given_(given), arch_(arch), per_node_(per_node) {}

  std::vector<Deployment> Take() { return std::move(layouts_); }

  void Add(int64_t world) {
    for (const int64_t tp : DivisorsOf(world)) {
      if (given_.tp && tp != base_.sizes.tp) continue;
      for (const int64_t pp : DivisorsOf(world / tp)) {
        if (pp > arch_.layers() || (given_.pp && pp != base_.sizes.pp)) continue;
        const int64_t dp = world / tp / pp;
        Deployment d = base_;
        d.sizes.tp = tp;
        d.sizes.pp = pp;
        d.nodes = CeilDiv(world, per_node_);
        d.gpus_per_node = per_node_;
        base_.engine == "sglang" ? AddSglang(std::move(d), dp) : AddVllm(std::move(d), dp);
      }
    }
  }

 private:
  void AddVllm(Deployment d, int64_t dp) {
    if (given_.dp && dp != base_.sizes.dp) return;
    d.sizes.dp = dp;
    const bool spread = arch_.moe.experts > 0 && d.sizes.expert_ranks() > 1;
    std::vector<int64_t> dcps;
    for (int64_t dcp = 1; d.sizes.tp % dcp == 0; dcp *= 2) dcps.push_back(dcp);
    for (const int64_t whole :
         Choices(given_.experts, base_.sizes.expert_parallel,
                 spread ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0})) {
      d.sizes.expert_parallel = whole != 0;
      for (const int64_t dcp : Choices(given_.dcp, base_.sizes.dcp, dcps)) {
        d.sizes.dcp = dcp;
        layouts_.push_back(d);
      }
    }
  }

  void AddSglang(Deployment d, int64_t replicas) {
    const auto add = [&](int64_t dp, bool inside) {
      if (given_.dp && dp != base_.sizes.dp) return;
      if (given_.attention_dp && inside != base_.sglang.enable_dp_attention) return;
      d.sizes.dp = dp;
      d.sglang.enable_dp_attention = inside;
      const bool moe = arch_.moe.experts > 0;
      std::vector<int64_t> sizes = moe ? DivisorsOf(d.sizes.tp) : std::vector<int64_t>{1};
      // vLLM's switch: every rank of the group.
      if (base_.sizes.expert_parallel && moe) sizes = {d.sizes.tp};
      d.sizes.expert_parallel = false;
      for (const int64_t ep : Choices(given_.experts, base_.sglang.ep_size, std::move(sizes))) {
        d.sglang.ep_size = ep;
        layouts_.push_back(d);
      }
    };
    add(replicas, false);
    if (replicas > 1) return;
    for (const int64_t dp : DivisorsOf(d.sizes.tp)) {
      if (dp > 1) add(dp, true);
    }
  }

  const Deployment& base_;
  const GivenSizes& given_;
  const Architecture& arch_;
  int64_t per_node_;
  std::vector<Deployment> layouts_;
};

}  // namespace

std::vector<int64_t> WorldSizes(int64_t nodes, int64_t cards_per_node) {
  std::vector<int64_t> worlds;
  for (int64_t cards = 1; cards <= cards_per_node; ++cards) worlds.push_back(cards);
  for (int64_t n = 2; n <= nodes; ++n) worlds.push_back(n * cards_per_node);
  return worlds;
}

std::vector<Deployment> LayoutsOf(const Deployment& base, const GivenSizes& given,
                                  const Architecture& arch, int64_t nodes, int64_t cards_per_node) {
  Space space(base, given, arch, cards_per_node);
  for (const int64_t world : WorldSizes(nodes, cards_per_node)) space.Add(world);
  return space.Take();
}

}  // namespace shardplan
