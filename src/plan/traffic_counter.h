// Exchanges between ranks as bytes on links: the arithmetic that engines share.
#ifndef SHARDPLAN_PLAN_TRAFFIC_COUNTER_H_
#define SHARDPLAN_PLAN_TRAFFIC_COUNTER_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "plan/placement.h"
#include "shardplan/hardware/gpu.h"
#include "shardplan/hardware/link_rates.h"
#include "shardplan/plan/deployment.h"
#include "shardplan/plan/traffic.h"

namespace shardplan {

// Ranks that exchange something: `outer` runs of `inner` neighbours each, `stride` apart.
struct RankGroup {
  int64_t first = 0;
  int64_t inner = 1;
  int64_t outer = 1;
  int64_t stride = 0;

  int64_t size() const { return inner * outer; }
  int64_t rank(int64_t i) const { return first + i / inner * stride + i % inner; }
};

// Where ranks sit. Ranks fill nodes in order, so that a group's members on a node are neighbours.
struct TrafficWorld {
  std::vector<int64_t> node;    // of a rank
  std::vector<int64_t> domain;  // of a rank: cards that NVLink joins
};
TrafficWorld WorldOf(const GpuSpec& gpu, const NodePlacement& place, int64_t ranks);

// Rates of the links: as given, as the cluster tells them, else as assumed.
LinkRates RatesOf(const GpuSpec& gpu, const NodePlacement& place, const Deployment& deployment);

// How a token reaches its experts.
enum class ExpertDelivery {
  kPerExpert,  // a copy for each expert (DeepEP's low-latency kernels)
  kPerRank,    // a copy for each rank that has any of them
  kPerDomain,  // a copy for each domain, passed on inside it (DeepEP's high-throughput kernels)
};

// Experts are chosen evenly and independently of where they are: `top_k` different ones of
// `experts`, which stand in order on the ranks of a group, the first ranks with one more.
struct ExpertRoute {
  int64_t experts = 0;
  int64_t top_k = 0;
  ExpertDelivery delivery = ExpertDelivery::kPerRank;
};

// Adds up what ranks send and receive. Amounts are doubles: parts of tensors need not be whole
// bytes, and sums stay far below 2^53.
class TrafficCounter {
 public:
  explicit TrafficCounter(const TrafficWorld& world);

  void Send(TrafficKind kind, int64_t from, int64_t to, double bytes);

  // Ring collectives of a tensor of `bytes`: whole on every rank (all-reduce), or put together of
  // the ranks' parts and divided into them. Each rank sends 2(n−1)/n or (n−1)/n of it to the next,
  // as two-shot kernels do to all others; inside a node that is the same number of bytes.
  //
  // What a domain of a group has to send and receive at least, with trees, hierarchies or switches
  // that add up: a sum goes out once and comes in once; of a gathered tensor its own part goes out
  // and the others' come in; of a scattered one the other way round. Of a rank the same, a sum
  // being (n−1)/n of a tensor.
  void AllReduce(TrafficKind kind, const RankGroup& group, double bytes);
  void AllGather(TrafficKind kind, const RankGroup& group, double bytes);
  void ReduceScatter(TrafficKind kind, const RankGroup& group, double bytes);

  // `tokens` of each rank of the group to the experts on its ranks, with `dispatch` bytes for each
  // copy of a token, and back the same way with `combine` bytes: the expected value.
  void Experts(const RankGroup& group, const ExpertRoute& route, double tokens, double dispatch,
               double combine);

  // The step so far. `rules` are kept beside the kinds that moved anything.
  StepTraffic Finish(int64_t tokens, const LinkRates& rates,
                     const std::array<std::string, kTrafficKinds>& rules) const;

 private:
  enum class Collective { kSum, kGather, kScatter };
  void Ring(TrafficKind kind, const RankGroup& group, double bytes, Collective how);
  void Move(TrafficKind kind, int64_t from, int64_t to, double bytes);
  void AddLeast(const RankGroup& group, double bytes, Collective how);
  void Domains(const RankGroup& group, const ExpertRoute& route, double tokens, double dispatch,
               double combine);

  struct Sums {
    double inside = 0;
    double network = 0;
  };
  const TrafficWorld& world_;
  std::array<Sums, kTrafficKinds> kinds_;
  std::vector<Sums> sent_, received_;  // of a rank
  // At least: of a rank inside; of a domain over the network.
  std::vector<double> least_out_, least_in_, domain_out_, domain_in_;
};

// The chance that at least one of `top_k` different experts, chosen evenly from `experts`, is among
// `here` of them.
double HitChance(int64_t experts, int64_t top_k, int64_t here);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_TRAFFIC_COUNTER_H_
