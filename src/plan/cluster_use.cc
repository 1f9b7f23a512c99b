#include "plan/cluster_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "plan/node_count.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

int64_t CardsOf(const NodeKind& kind) { return static_cast<int64_t>(kind.cards.size()); }

// Sizes whose ranks are the deployment's: SGLang's data parallelism may lie inside TP.
ParallelSizes SizesOf(const Deployment& d) {
  ParallelSizes sizes = d.sizes;
  sizes.dp_in_tp |= d.engine == "sglang" && d.sglang.enable_dp_attention;
  return sizes;
}

int64_t WorldOf(const ParallelSizes& sizes) {
  return internal::CheckedMul(internal::CheckedMul(sizes.tp, sizes.pp),
                              sizes.dp_in_tp ? 1 : sizes.dp);
}

bool SameCapacity(const std::optional<SourcedBytes>& a, const std::optional<SourcedBytes>& b) {
  if (!a || !b) return !a && !b;
  return a->bytes.low == b->bytes.low && a->bytes.central == b->bytes.central &&
         a->bytes.high == b->bytes.high;
}

bool SameCard(const CardSpec& a, const CardSpec& b) {
  const auto joined = [](const CardSpec& card) { return card.nvlink_group.value_or(0) >= 0; };
  return a.gpu == b.gpu && a.read_name == b.read_name && a.read_total == b.read_total &&
         a.described.has_value() == b.described.has_value() &&
         SameCapacity(a.device_total, b.device_total) &&
         SameCapacity(a.cuda_visible, b.cuda_visible) && joined(a) == joined(b);
}

// NVLink beyond a node is the cluster's to tell, where it tells any of it.
void ApplyNvlink(const NodeKind& kind, const CardSpec& card, GpuSpec* gpu) {
  if (kind.nvlink_over_nodes) {
    gpu->nvlink_domain = static_cast<int>(
        std::min<int64_t>(internal::CheckedMul(kind.count, CardsOf(kind)), 1 << 20));
  } else if (card.nvlink_group) {
    gpu->nvlink_domain = 0;
  }
}

}  // namespace

ClusterShare ShareOf(const ClusterSpec& cluster, std::optional<int64_t> most, int64_t world) {
  ClusterShare best;
  ClusterShare now;
  const int64_t end = std::min(most.value_or(cluster.nodes()), cluster.nodes());
  while (now.nodes < end) {
    const int64_t here = CardsOf(cluster.KindOf(now.nodes));
    now.cards_per_node = now.nodes == 0 ? here : std::min(now.cards_per_node, here);
    ++now.nodes;
    if (now.nodes * now.cards_per_node > best.nodes * best.cards_per_node) best = now;
    if (now.nodes * now.cards_per_node >= world) break;
  }
  // As given, nodes are all meant.
  while (best.nodes < end && CardsOf(cluster.KindOf(best.nodes)) >= best.cards_per_node) {
    ++best.nodes;
  }
  return best;
}

ClusterShare CardsWithRanks(const Deployment& d) {
  const ParallelSizes sizes = SizesOf(d);
  const int64_t world = WorldOf(sizes);
  ClusterShare share = ShareOf(*d.cluster, d.nodes, world);
  share.cards_per_node = std::min(share.cards_per_node, d.gpus_per_node.value_or(INT64_MAX));
  const bool sound = sizes.tp > 0 && sizes.pp > 0 && sizes.dp > 0 && share.cards_per_node > 0 &&
                     world <= share.nodes * share.cards_per_node;
  if (!sound) return share;
  const int64_t nodes = d.engine == "sglang" ? SglangNodes(sizes, share.cards_per_node, share.nodes)
                                             : VllmNodes(sizes, share.cards_per_node, share.nodes);
  return nodes > 0 ? ClusterShare{nodes, world / nodes} : share;
}

bool HasOneCard(const ClusterSpec& cluster) {
  const CardSpec& first = cluster.kinds.front().cards.front();
  return std::all_of(cluster.kinds.begin(), cluster.kinds.end(), [&](const NodeKind& kind) {
    return std::all_of(kind.cards.begin(), kind.cards.end(),
                       [&](const CardSpec& card) { return SameCard(card, first); });
  });
}

Result<GpuSpec> CardFor(const Catalog& catalog, const Deployment& d) {
  if (!d.cluster) return catalog.FindGpu(d.gpu);
  if (!d.gpu.empty()) {
    return Fail(ErrorCode::kUsage, "--gpu " + Printable(d.gpu),
                "the cards are told by --cluster " + Printable(d.cluster->file),
                "leave one of them out");
  }
  const ClusterShare share = CardsWithRanks(d);
  std::optional<GpuSpec> smallest;
  int64_t node = 0;
  for (const NodeKind& kind : d.cluster->kinds) {
    if (node >= share.nodes) break;
    node += kind.count;
    const auto cards = static_cast<size_t>(std::min(share.cards_per_node, CardsOf(kind)));
    for (size_t i = 0; i < cards; ++i) {
      if (i > 0 && SameCard(kind.cards[i], kind.cards[i - 1])) continue;
      SHARDPLAN_ASSIGN_OR_RETURN(GpuSpec gpu, ResolveCard(catalog, kind.cards[i]));
      ApplyNvlink(kind, kind.cards[i], &gpu);
      if (smallest && smallest->vendor != gpu.vendor) {
        return Fail(ErrorCode::kInvalidInput, kind.cards[i].where,
                    fmt::format("expected cards of one vendor in a deployment, found {} beside {}",
                                Printable(gpu.name, 60), Printable(smallest->name, 60)),
                    "--nodes N takes the first N nodes alone: an engine is built for CUDA or for "
                    "ROCm, a deployment for each");
      }
      if (!smallest || gpu.cuda_visible.bytes.central < smallest->cuda_visible.bytes.central) {
        smallest = std::move(gpu);
      }
    }
  }
  if (!smallest) return Fail(ErrorCode::kUsage, "--nodes", "expected at least 1 node");
  return std::move(*smallest);
}

bool HasSameCard(const Deployment& a, const Deployment& b) {
  if (a.gpu != b.gpu || a.cluster != b.cluster) return false;
  if (!a.cluster || HasOneCard(*a.cluster)) return true;
  const ClusterShare ours = CardsWithRanks(a);
  const ClusterShare theirs = CardsWithRanks(b);
  return ours.nodes == theirs.nodes && ours.cards_per_node == theirs.cards_per_node;
}

TooFewCards TellTooFewCards(const ClusterSpec& cluster, const ClusterShare& share, int64_t world) {
  TooFewCards out;
  int64_t all = 0;
  for (const NodeKind& kind : cluster.kinds) {
    all += internal::CheckedMul(kind.count, CardsOf(kind));
  }
  const int64_t usable = share.nodes * share.cards_per_node;
  out.message = fmt::format("{} ranks need {} GPUs, {} node(s) of {} have {}", world, world,
                            share.nodes, share.cards_per_node, usable);
  // More nodes never hold less.
  const auto holds = [&](int64_t nodes) {
    const ClusterShare more = ShareOf(cluster, nodes, world);
    return more.nodes * more.cards_per_node >= world;
  };
  int64_t enough = cluster.nodes();
  if (usable >= all) {
    out.message += fmt::format(", all that {} tells", Printable(cluster.file));
  } else {
    out.message += fmt::format(" of the {} in {}", all, Printable(cluster.file));
  }
  if (!holds(enough)) {
    if (usable < all) {
      out.message += ": every node takes the same number of ranks, as many as the smallest holds";
    }
    out.fix = "a smaller layout, or a cluster with more cards";
    return out;
  }
  int64_t least = 1;
  while (least < enough) {
    const int64_t middle = least + (enough - least) / 2;
    if (holds(middle)) {
      enough = middle;
    } else {
      least = middle + 1;
    }
  }
  out.fix = fmt::format("--nodes {} or a smaller layout", enough);
  return out;
}

Result<Deployment> InCluster(const Deployment& deployment, int64_t world) {
  const ClusterSpec& cluster = *deployment.cluster;
  if (deployment.nodes && *deployment.nodes > cluster.nodes()) {
    return Fail(ErrorCode::kUsage, fmt::format("--nodes {}", *deployment.nodes),
                fmt::format("expected at most {}, the nodes of {}", FormatCount(cluster.nodes()),
                            Printable(cluster.file)));
  }
  const ClusterShare share = ShareOf(cluster, deployment.nodes, world);
  Deployment out = deployment;
  out.nodes = share.nodes;
  out.gpus_per_node =
      std::min(share.cards_per_node, deployment.gpus_per_node.value_or(share.cards_per_node));
  return out;
}

}  // namespace shardplan
