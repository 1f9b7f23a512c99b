// Which part of a cluster a deployment runs on.
#ifndef SHARDPLAN_PLAN_CLUSTER_USE_H_
#define SHARDPLAN_PLAN_CLUSTER_USE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shardplan/base/finding.h"
#include "shardplan/base/result.h"
#include "shardplan/hardware/cluster_spec.h"
#include "shardplan/plan/deployment.h"

namespace shardplan {

// Nodes from the first on, each with so many cards at least.
struct ClusterShare {
  int64_t nodes = 0;
  int64_t cards_per_node = 0;
};

// Engines want the same number of ranks on every node, and fill nodes in the order of the file. Of
// the first `most` nodes (all where absent): as few as hold `world` ranks decide how many cards of
// a node count, and the nodes behind them that have as many belong to the share. Where none hold
// them, the most cards there are.
ClusterShare ShareOf(const ClusterSpec& cluster, std::optional<int64_t> most, int64_t world);

// The nodes of the share on which the deployment, which has a cluster, puts ranks, and how many
// cards of each, from the first one, hold one. The whole share where its ranks cannot be placed.
ClusterShare CardsWithRanks(const Deployment& deployment);

// Whether all cards are told to be the same one, with the same capacities.
bool HasOneCard(const ClusterSpec& cluster);

// The card that a deployment is planned with: the catalogue's, or of a cluster the one of
// which CUDA sees least, of those that hold ranks. Fails as Catalog::FindGpu and ResolveCard do,
// with kUsage where both --gpu and a cluster are given, and with kInvalidInput for cards of several
// vendors.
Result<GpuSpec> CardFor(const Catalog& catalog, const Deployment& deployment);

// Whether the next deployment is planned with the same card as the last one, without a look-up.
bool HasSameCard(const Deployment& a, const Deployment& b);

// Words for a layout of more ranks than a share of the cluster holds: how many cards count and why,
// and the nodes that would do, of those that there are.
struct TooFewCards {
  std::string message;
  std::string fix;
};
TooFewCards TellTooFewCards(const ClusterSpec& cluster, const ClusterShare& share, int64_t world);

// The deployment with nodes and cards of its cluster, which it has. `world` is the number
// of ranks. Fails with kUsage for more nodes than there are.
Result<Deployment> InCluster(const Deployment& deployment, int64_t world);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_CLUSTER_USE_H_
