// Clusters that the plan's tests share.
#ifndef SHARDPLAN_TESTS_SUPPORT_CLUSTER_WORLD_H_
#define SHARDPLAN_TESTS_SUPPORT_CLUSTER_WORLD_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "shardplan/base/units.h"
#include "shardplan/hardware/cluster_spec.h"
#include "support/plan_world.h"

namespace shardplan::testing_support {

inline SourcedBytes Told(Bytes bytes) { return {Range(bytes), Basis::kMeasured, "a reading"}; }

// A server with so many of a card, half of them on each of two NUMA nodes.
inline NodeKind Server(const std::string& gpu, size_t cards, int64_t count = 1) {
  NodeKind kind;
  kind.name = gpu;
  kind.where = "c.yaml:1";
  kind.count = count;
  kind.cards.resize(cards);
  kind.numa.resize(2);
  kind.numa[1].node = 1;
  for (size_t i = 0; i < cards; ++i) {
    kind.cards[i].gpu = gpu;
    kind.cards[i].where = "c.yaml:2";
    kind.cards[i].numa_node = i < cards / 2 ? 0 : 1;
  }
  return kind;
}

inline NicSpec Port(double gbit_per_s, NicProtocol protocol, int numa) {
  NicSpec nic;
  nic.gbit_per_s.value = gbit_per_s;
  nic.protocol = protocol;
  nic.numa_node = numa;
  return nic;
}

inline std::shared_ptr<const ClusterSpec> Cluster(std::vector<NodeKind> kinds) {
  auto spec = std::make_shared<ClusterSpec>();
  spec->file = "c.yaml";
  spec->kinds = std::move(kinds);
  return spec;
}

// A small mixture of experts on a cluster.
inline Deployment OnCluster(std::vector<NodeKind> kinds, int64_t tp, int64_t pp = 1) {
  Deployment d;
  d.cluster = Cluster(std::move(kinds));
  d.sizes.tp = tp;
  d.sizes.pp = pp;
  d.settings.max_model_len = 4096;
  d.settings.max_num_seqs = 1;
  return d;
}

}  // namespace shardplan::testing_support

#endif  // SHARDPLAN_TESTS_SUPPORT_CLUSTER_WORLD_H_
