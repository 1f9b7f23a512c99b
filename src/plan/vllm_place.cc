#include "plan/vllm_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "plan/cluster_use.h"
#include "plan/node_count.h"
#include "plan/request.h"
#include "shardplan/base/units.h"

namespace shardplan {

void PlaceVllm(const GpuSpec& gpu, const Catalog& catalog, const Deployment& d, NodePlacement* out,
               std::vector<Finding>* findings) {
  NodePlacement& place = *out;
  place.gpus_per_node = CardsPerNode(gpu, d);
  const int64_t world = d.sizes.world();
  place.nodes = VllmNodes(d.sizes, place.gpus_per_node, d.nodes);
  auto finding = [&](const char* id, Severity severity, std::string message, std::string fix) {
    findings->push_back({id, severity,
                         fmt::format("TP {} × PP {} × DP {}", d.sizes.tp, d.sizes.pp, d.sizes.dp),
                         std::move(message), std::move(fix)});
  };
  if (place.nodes == 0) {
    const int64_t available = d.nodes.value_or(0) * place.gpus_per_node;
    if (d.cluster && available < world) {
      TooFewCards few = TellTooFewCards(*d.cluster, {*d.nodes, place.gpus_per_node}, world);
      finding("layout.world_size", Severity::kError, std::move(few.message), std::move(few.fix));
    } else if (d.nodes && available < world) {
      finding("layout.world_size", Severity::kError,
              fmt::format("{} ranks need {} GPUs, {} node(s) of {} have {}", world, world, *d.nodes,
                          place.gpus_per_node, available),
              fmt::format("--nodes {} or a smaller layout", CeilDiv(world, place.gpus_per_node)));
    } else {
      finding("layout.world_size", Severity::kError,
              fmt::format("{} ranks do not divide evenly over nodes of {} GPUs", world,
                          place.gpus_per_node),
              d.sizes.dp > 1
                  ? "every node has the same number of ranks, and whole data-parallel engines"
                  : "vLLM needs the same number of ranks on every node");
    }
    place.nodes = std::max<int64_t>(1, d.nodes.value_or(1));
    return;
  }
  place.ranks_per_node = world / place.nodes;
  // Trays of one NVLink domain are as near as cards of one node.
  place.tp_spans_nodes = d.sizes.tp > std::max<int64_t>(place.ranks_per_node, gpu.nvlink_domain);
  if (place.tp_spans_nodes) {
    finding("layout.tp_spans_nodes", Severity::kWarning,
            fmt::format("a tensor-parallel group spans {} nodes: every layer's all-reduce crosses "
                        "the network",
                        CeilDiv(d.sizes.tp, place.ranks_per_node)),
            "keep TP inside a node and use pipeline stages across nodes");
  } else if (place.ranks_per_node % d.sizes.tp != 0) {
    finding("layout.stage_straddles", Severity::kWarning,
            fmt::format("{} ranks a node are no whole number of stages of {} ranks: a stage is "
                        "split over two nodes",
                        place.ranks_per_node, d.sizes.tp),
            "choose TP so that it divides the GPUs of a node");
  }
  if (d.nodes && place.nodes < *d.nodes) {
    finding("layout.idle_nodes", Severity::kNote,
            fmt::format("{} of {} nodes are used", place.nodes, *d.nodes), "");
  } else if (place.ranks_per_node < place.gpus_per_node && place.nodes > 1) {
    finding("layout.idle_gpus", Severity::kNote,
            fmt::format("{} of {} GPUs a node are used", place.ranks_per_node, place.gpus_per_node),
            "");
  }
  CheckVisibleCards(d, place.ranks_per_node, findings);
  FillNuma(catalog, d.cluster.get(), &place);
}

}  // namespace shardplan
