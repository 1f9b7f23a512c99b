// What a cluster file says of links, in place of what is assumed of them.
#ifndef SHARDPLAN_HARDWARE_CLUSTER_LINKS_H_
#define SHARDPLAN_HARDWARE_CLUSTER_LINKS_H_

#include <cstdint>

#include "shardplan/hardware/cluster_spec.h"
#include "shardplan/hardware/link_rates.h"

namespace shardplan {

// `rates` with those that the first `nodes` nodes of the cluster tell: of cards the slowest, of a
// node all of its ports together and its fastest disk, the slowest node of each. Where one of the
// nodes tells nothing, what was assumed stays; what `settings` gives stays as well.
LinkRates WithCluster(LinkRates rates, const ClusterSpec& cluster, int64_t nodes,
                      const LinkSettings& settings);

}  // namespace shardplan

#endif  // SHARDPLAN_HARDWARE_CLUSTER_LINKS_H_
