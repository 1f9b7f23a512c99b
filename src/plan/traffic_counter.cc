#include "plan/traffic_counter.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "hardware/cluster_links.h"

namespace shardplan {
namespace {

Bytes Whole(double bytes) {
  constexpr double kMost = 9e18;  // below 2^63
  if (!(bytes < kMost)) throw SizeOverflow();
  return Bytes(std::llround(bytes));
}

}  // namespace

std::string_view ToString(TrafficKind kind) {
  constexpr std::array<std::string_view, kTrafficKinds> names = {
      "embedding",      "tensor_parallel", "attention_data", "expert_dispatch",
      "expert_combine", "decode_context",  "pipeline",       "logits"};
  return names[static_cast<size_t>(kind)];
}

double StepTraffic::NetworkPerToken() const {
  return tokens > 0 ? static_cast<double>(sent.network.count()) / static_cast<double>(tokens) : 0;
}

double StepTraffic::InsidePerToken() const {
  return tokens > 0 ? static_cast<double>(sent.inside.count()) / static_cast<double>(tokens) : 0;
}

TrafficWorld WorldOf(const GpuSpec& gpu, const NodePlacement& place, int64_t ranks) {
  TrafficWorld world;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    const int64_t node = rank / std::max<int64_t>(1, place.ranks_per_node);
    world.node.push_back(node);
    // A rack of nodes in one NVLink domain; otherwise a node is one.
    const int64_t nodes =
        std::max<int64_t>(1, gpu.nvlink_domain / std::max<int64_t>(1, place.gpus_per_node));
    world.domain.push_back(node / nodes);
  }
  return world;
}

LinkRates RatesOf(const GpuSpec& gpu, const NodePlacement& place, const Deployment& deployment) {
  LinkRates rates = LinkRatesOf(gpu, place.gpus_per_node, deployment.links);
  if (!deployment.cluster) return rates;
  return WithCluster(std::move(rates), *deployment.cluster, place.nodes, deployment.links);
}

double HitChance(int64_t experts, int64_t top_k, int64_t here) {
  double missed = 1;
  for (int64_t i = 0; i < top_k; ++i) {
    if (experts - here - i <= 0) return 1;
    missed *= static_cast<double>(experts - here - i) / static_cast<double>(experts - i);
  }
  return 1 - missed;
}

TrafficCounter::TrafficCounter(const TrafficWorld& world)
    : world_(world),
      kinds_{},
      sent_(world.node.size()),
      received_(world.node.size()),
      least_out_(world.node.size()),
      least_in_(world.node.size()) {
  const int64_t domains = world.domain.empty() ? 0 : world.domain.back() + 1;
  domain_out_.resize(static_cast<size_t>(domains));
  domain_in_.resize(static_cast<size_t>(domains));
}

void TrafficCounter::Send(TrafficKind kind, int64_t from, int64_t to, double bytes) {
  if (from == to) return;
  Move(kind, from, to, bytes);
  const auto a = static_cast<size_t>(from);
  const auto b = static_cast<size_t>(to);
  if (world_.domain[a] == world_.domain[b]) {
    least_out_[a] += bytes;
    least_in_[b] += bytes;
  } else {
    domain_out_[static_cast<size_t>(world_.domain[a])] += bytes;
    domain_in_[static_cast<size_t>(world_.domain[b])] += bytes;
  }
}

void TrafficCounter::Move(TrafficKind kind, int64_t from, int64_t to, double bytes) {
  const auto a = static_cast<size_t>(from);
  const auto b = static_cast<size_t>(to);
  double Sums::*const link = world_.domain[a] == world_.domain[b] ? &Sums::inside : &Sums::network;
  kinds_[static_cast<size_t>(kind)].*link += bytes;
  sent_[a].*link += bytes;
  received_[b].*link += bytes;
}

void TrafficCounter::Ring(TrafficKind kind, const RankGroup& group, double bytes, Collective how) {
  const int64_t n = group.size();
  if (n <= 1 || bytes <= 0) return;
  const double rounds = how == Collective::kSum ? 2 : 1;
  const double each = rounds * bytes * static_cast<double>(n - 1) / static_cast<double>(n);
  for (int64_t i = 0; i < n; ++i) Move(kind, group.rank(i), group.rank((i + 1) % n), each);
  AddLeast(group, bytes, how);
}

void TrafficCounter::AddLeast(const RankGroup& group, double bytes, Collective how) {
  const int64_t n = group.size();
  const auto part = [&](int64_t ranks) {
    return bytes * static_cast<double>(ranks) / static_cast<double>(n);
  };
  for (int64_t begin = 0; begin < n;) {
    const int64_t domain = world_.domain[static_cast<size_t>(group.rank(begin))];
    int64_t end = begin + 1;
    while (end < n && world_.domain[static_cast<size_t>(group.rank(end))] == domain) ++end;
    const int64_t here = end - begin;
    if (here < n) {
      const auto at = static_cast<size_t>(domain);
      domain_out_[at] += how == Collective::kSum      ? bytes
                         : how == Collective::kGather ? part(here)
                                                      : part(n - here);
      domain_in_[at] += how == Collective::kSum      ? bytes
                        : how == Collective::kGather ? part(n - here)
                                                     : part(here);
    }
    // Inside: a rank shares with the others of its domain what it gives them or gets from them.
    for (int64_t i = begin; here > 1 && i < end; ++i) {
      const auto rank = static_cast<size_t>(group.rank(i));
      const double out = how == Collective::kGather ? part(1) : part(here - 1);
      const double in = how == Collective::kScatter ? part(1) : part(here - 1);
      least_out_[rank] += out;
      least_in_[rank] += in;
    }
    begin = end;
  }
}

void TrafficCounter::AllReduce(TrafficKind kind, const RankGroup& group, double bytes) {
  Ring(kind, group, bytes, Collective::kSum);
}
void TrafficCounter::AllGather(TrafficKind kind, const RankGroup& group, double bytes) {
  Ring(kind, group, bytes, Collective::kGather);
}
void TrafficCounter::ReduceScatter(TrafficKind kind, const RankGroup& group, double bytes) {
  Ring(kind, group, bytes, Collective::kScatter);
}

void TrafficCounter::Experts(const RankGroup& group, const ExpertRoute& route, double tokens,
                             double dispatch, double combine) {
  const int64_t n = group.size();
  if (n <= 1 || route.experts <= 0) return;
  if (route.delivery == ExpertDelivery::kPerDomain) {
    Domains(group, route, tokens, dispatch, combine);
    return;
  }
  for (int64_t to = 0; to < n; ++to) {
    const int64_t here = route.experts / n + (to < route.experts % n ? 1 : 0);
    const double copies =
        route.delivery == ExpertDelivery::kPerExpert
            ? static_cast<double>(route.top_k * here) / static_cast<double>(route.experts)
            : HitChance(route.experts, route.top_k, here);
    for (int64_t from = 0; from < n; ++from) {
      const int64_t a = group.rank(from);
      const int64_t b = group.rank(to);
      Send(TrafficKind::kExpertDispatch, a, b, tokens * copies * dispatch);
      Send(TrafficKind::kExpertCombine, b, a, tokens * copies * combine);
    }
  }
}

// A token goes once to each other domain that has any of its experts, to the rank with the sender's
// place there, which passes it on to the ranks that need it; outputs come back the same way, added
// up at that rank.
void TrafficCounter::Domains(const RankGroup& group, const ExpertRoute& route, double tokens,
                             double dispatch, double combine) {
  const int64_t n = group.size();
  std::vector<int64_t> begins;  // of the domains' members in the group
  for (int64_t i = 0; i < n; ++i) {
    const auto domain = [&](int64_t at) {
      return world_.domain[static_cast<size_t>(group.rank(at))];
    };
    if (i == 0 || domain(i) != domain(i - 1)) begins.push_back(i);
  }
  begins.push_back(n);
  const auto here = [&](int64_t i) { return route.experts / n + (i < route.experts % n ? 1 : 0); };
  const auto move = [&](int64_t from, int64_t to, double copies) {
    Send(TrafficKind::kExpertDispatch, from, to, tokens * copies * dispatch);
    Send(TrafficKind::kExpertCombine, to, from, tokens * copies * combine);
  };
  for (size_t d = 0; d + 1 < begins.size(); ++d) {
    int64_t experts = 0;
    for (int64_t i = begins[d]; i < begins[d + 1]; ++i) experts += here(i);
    const double hit = HitChance(route.experts, route.top_k, experts);
    const int64_t members = begins[d + 1] - begins[d];
    for (size_t s = 0; s + 1 < begins.size(); ++s) {
      for (int64_t from = begins[s]; from < begins[s + 1]; ++from) {
        const int64_t entry = s == d ? from : begins[d] + (from - begins[s]) % members;
        if (s != d) move(group.rank(from), group.rank(entry), hit);
        for (int64_t to = begins[d]; to < begins[d + 1]; ++to) {
          move(group.rank(entry), group.rank(to), HitChance(route.experts, route.top_k, here(to)));
        }
      }
    }
  }
}

StepTraffic TrafficCounter::Finish(int64_t tokens, const LinkRates& rates,
                                   const std::array<std::string, kTrafficKinds>& rules) const {
  StepTraffic step;
  step.tokens = tokens;
  for (int kind = 0; kind < kTrafficKinds; ++kind) {
    const Sums& sums = kinds_[static_cast<size_t>(kind)];
    if (sums.inside == 0 && sums.network == 0) continue;
    const LinkBytes sent = {Whole(sums.inside), Whole(sums.network)};
    step.items.push_back({static_cast<TrafficKind>(kind), sent, rules[static_cast<size_t>(kind)]});
    step.sent.inside += sent.inside;
    step.sent.network += sent.network;
  }
  std::vector<Sums> out, in;  // of a node, over the network alone
  for (size_t rank = 0; rank < sent_.size(); ++rank) {
    const auto node = static_cast<size_t>(world_.node[rank]);
    out.resize(std::max(out.size(), node + 1));
    in.resize(out.size());
    out[node].network += sent_[rank].network;
    in[node].network += received_[rank].network;
    step.rank_inside_least =
        std::max(step.rank_inside_least, Whole(std::max(least_out_[rank], least_in_[rank])));
    const Bytes inside = Whole(std::max(sent_[rank].inside, received_[rank].inside));
    if (inside <= step.rank_inside) continue;
    step.rank_inside = inside;
    step.busiest_rank = static_cast<int64_t>(rank);
  }
  for (size_t node = 0; node < out.size(); ++node) {
    const Bytes network = Whole(std::max(out[node].network, in[node].network));
    if (network <= step.node_network) continue;
    step.node_network = network;
    step.busiest_node = static_cast<int64_t>(node);
  }
  // The nodes of a domain share what it sends.
  std::vector<int64_t> nodes(domain_out_.size());
  for (size_t rank = 0; rank < world_.node.size(); ++rank) {
    const bool begins = rank == 0 || world_.node[rank] != world_.node[rank - 1];
    nodes[static_cast<size_t>(world_.domain[rank])] += begins ? 1 : 0;
  }
  for (size_t domain = 0; domain < nodes.size(); ++domain) {
    const double most = std::max(domain_out_[domain], domain_in_[domain]);
    step.node_network_least =
        std::max(step.node_network_least,
                 Whole(most / static_cast<double>(std::max<int64_t>(1, nodes[domain]))));
  }
  step.network_seconds = rates.network.SecondsFor(step.node_network_least);
  if (rates.inside() != nullptr) {
    step.inside_seconds = rates.inside()->SecondsFor(step.rank_inside_least);
  }
  return step;
}

}  // namespace shardplan
