// What a layout puts on its links, derived: bytes, and the least time that they take.
#ifndef SHARDPLAN_PLAN_TRAFFIC_H_
#define SHARDPLAN_PLAN_TRAFFIC_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shardplan/base/bytes.h"
#include "shardplan/hardware/link_rates.h"

namespace shardplan {

// Why bytes move.
enum class TrafficKind {
  kEmbedding,       // sum of a vocabulary's slices
  kTensorParallel,  // sums over ranks that share a layer, or their scattered halves
  kAttentionData,   // SGLang's gathers between attention DP and layers of all ranks
  kExpertDispatch,  // tokens to the ranks of their experts
  kExpertCombine,   // and back
  kDecodeContext,   // queries and partial outputs of decode context parallelism
  kPipeline,        // from stage to stage
  kLogits,          // slices of the vocabulary
};
constexpr int kTrafficKinds = static_cast<int>(TrafficKind::kLogits) + 1;

std::string_view ToString(TrafficKind kind);  // "tensor_parallel"

// Bytes by the link that they take. Inside: between cards of one NVLink domain (a node without
// NVLink: over PCIe); network: between nodes.
struct LinkBytes {
  Bytes inside;
  Bytes network;

  friend bool operator==(const LinkBytes&, const LinkBytes&) = default;
};

struct TrafficItem {
  TrafficKind kind = TrafficKind::kTensorParallel;
  LinkBytes sent;    // by all ranks
  std::string rule;  // in words; empty where the plan is brief
};

// One batch through all stages, of all engines at once.
struct StepTraffic {
  int64_t tokens = 0;  // of all engines
  std::vector<TrafficItem> items;
  LinkBytes sent;  // by all ranks

  // The node with most on its network link and the card with most on its link inside, each by the
  // direction that has more.
  int64_t busiest_node = 0;
  Bytes node_network;
  int64_t busiest_rank = 0;
  Bytes rank_inside;

  // What the node's network link and the card's link carry at least, however sums and gathers are
  // done: rings send more between nodes than trees and hierarchies do.
  Bytes node_network_least;
  Bytes rank_inside_least;

  // Those at link rate and nothing else: lower bounds, not forecasts.
  double network_seconds = 0;
  std::optional<double> inside_seconds;

  // Of all ranks, for each token.
  double NetworkPerToken() const;
  double InsidePerToken() const;
};

struct TrafficPlan {
  LinkRates rates;
  StepTraffic prefill;  // batches as full of prompt as they may be
  StepTraffic decode;   // every request that may run, one token each and what speculation guesses
  std::vector<std::string> notes;  // what is not counted, and what rests on an assumption
};

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_TRAFFIC_H_
