#include "plan/node_count.h"

#include <algorithm>

#include "shardplan/base/units.h"

namespace shardplan {
namespace {

// Whether SGLang's rank ranges cover every rank of so many nodes once.
// Source: entrypoints/engine.py _calculate_rank_ranges (0bda0b168).
bool Divides(const ParallelSizes& sizes, int64_t nodes) {
  if (sizes.world() % nodes != 0) return false;
  if (sizes.pp % nodes == 0) return true;
  return nodes % sizes.pp == 0 && sizes.tp % (nodes / sizes.pp) == 0;
}

}  // namespace

int64_t VllmNodes(const ParallelSizes& sizes, int64_t per_node, std::optional<int64_t> given) {
  const int64_t world = sizes.world();
  const int64_t engine = sizes.tp * sizes.pp;
  int64_t fallback = 0;
  // Without a number, up to twice as many as are full: nobody means 13 nodes with one card each.
  const int64_t least = CeilDiv(world, per_node);
  const int64_t limit = std::min(given.value_or(2 * least), world);
  for (int64_t nodes = least; nodes <= limit; ++nodes) {
    if (world % nodes != 0) continue;
    const int64_t each = world / nodes;
    // An engine of several is launched on one node, or on nodes of its own.
    if (sizes.dp > 1 && each % engine != 0 && engine % each != 0) continue;
    if (!given || each % sizes.tp == 0 || sizes.tp % each == 0) return nodes;
    if (fallback == 0) fallback = nodes;
  }
  return fallback;
}

int64_t SglangNodes(const ParallelSizes& sizes, int64_t per_node, std::optional<int64_t> given) {
  const int64_t least = CeilDiv(sizes.world(), per_node);
  const int64_t limit = std::min(given.value_or(2 * least), sizes.world());
  for (int64_t nodes = least; nodes <= limit; ++nodes) {
    if (Divides(sizes, nodes)) return nodes;
  }
  return 0;
}

}  // namespace shardplan
