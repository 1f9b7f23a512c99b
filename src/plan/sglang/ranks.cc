#include "plan/sglang/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/sglang/parallel.h"
#include "plan/cluster_use.h"
#include "plan/node_count.h"
#include "plan/request.h"
#include "shardplan/base/units.h"

namespace shardplan {
void PlaceSglang(const GpuSpec& gpu, const Catalog& catalog, const Deployment& d,
                 const ParallelSizes& sizes, NodePlacement* place, std::vector<Finding>* findings) {
  place->gpus_per_node = CardsPerNode(gpu, d);
  place->nodes = SglangNodes(sizes, place->gpus_per_node, d.nodes);
  const auto add = [&](const char* id, Severity severity, std::string message, std::string fix) {
    findings->push_back({id, severity,
                         fmt::format("TP {} × PP {} × DP {}", sizes.tp, sizes.pp, sizes.dp),
                         std::move(message), std::move(fix)});
  };
  const int64_t world = sizes.world();
  if (place->nodes == 0) {
    const int64_t nodes = d.nodes.value_or(CeilDiv(world, place->gpus_per_node));
    place->nodes = std::max<int64_t>(1, d.nodes.value_or(1));
    if (d.cluster && nodes * place->gpus_per_node < world) {
      TooFewCards few = TellTooFewCards(*d.cluster, {nodes, place->gpus_per_node}, world);
      add("layout.world_size", Severity::kError, std::move(few.message), std::move(few.fix));
    } else if (nodes * place->gpus_per_node < world) {
      add("layout.world_size", Severity::kError,
          fmt::format("{} ranks need {} GPUs, {} node(s) of {} have {}", world, world, nodes,
                      place->gpus_per_node, nodes * place->gpus_per_node),
          fmt::format("--nodes {} or a smaller layout", CeilDiv(world, place->gpus_per_node)));
    } else {
      add("layout.world_size", Severity::kError,
          fmt::format("{} ranks do not divide over nodes of {} GPUs: SGLang gives a node whole "
                      "stages, or an even part of one",
                      world, place->gpus_per_node),
          "choose TP so that a stage is a node, a part of one or several whole ones");
    }
    return;
  }
  place->ranks_per_node = world / place->nodes;
  place->tp_spans_nodes = sizes.tp > std::max<int64_t>(place->ranks_per_node, gpu.nvlink_domain);
  if (place->tp_spans_nodes) {
    add("layout.tp_spans_nodes", Severity::kWarning,
        fmt::format("a tensor-parallel group spans {} nodes: every layer's all-reduce crosses the "
                    "network",
                    CeilDiv(sizes.tp, place->ranks_per_node)),
        "keep TP inside a node and use pipeline stages across nodes");
  }
  if (d.nodes && place->nodes < *d.nodes) {
    add("layout.idle_nodes", Severity::kNote,
        fmt::format("{} of {} nodes are used", place->nodes, *d.nodes), "");
  } else if (place->ranks_per_node < place->gpus_per_node && place->nodes > 1) {
    add("layout.idle_gpus", Severity::kNote,
        fmt::format("{} of {} GPUs a node are used", place->ranks_per_node, place->gpus_per_node),
        "");
  }
  CheckVisibleCards(d, place->ranks_per_node, findings);
  FillNuma(catalog, d.cluster.get(), place);
}

std::vector<RankPlace> PlaceSglangRanks(const sglang::ServerArgs& a, const NodePlacement& place) {
  std::vector<RankPlace> places;
  const int64_t replicas = a.enable_dp_attention ? 1 : a.dp_size;
  const int64_t attention_tp = sglang::AttentionTp(a);
  const int64_t moe_tp = a.tp_size / std::max<int64_t>(1, sglang::ExpertParallel(a));
  for (int64_t replica = 0; replica < replicas; ++replica) {
    for (int64_t stage = 0; stage < a.pp_size; ++stage) {
      for (int64_t tp = 0; tp < a.tp_size; ++tp) {
        RankPlace rank;
        rank.rank = (replica * a.pp_size + stage) * a.tp_size + tp;
        rank.node = rank.rank / place.ranks_per_node;
        rank.gpu = rank.rank % place.ranks_per_node;
        rank.stage = stage;
        rank.tp_rank = tp;
        rank.dp_rank = a.enable_dp_attention ? tp / attention_tp : replica;
        rank.ep_rank = tp / std::max<int64_t>(1, moe_tp);
        places.push_back(rank);
      }
    }
  }
  return places;
}

}  // namespace shardplan
