// Offload: which parameters leave the card; UVA's walk, in vLLM's order.
#ifndef SHARDPLAN_ENGINE_VLLM_OFFLOAD_H_
#define SHARDPLAN_ENGINE_VLLM_OFFLOAD_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shardplan/base/bytes.h"
#include "shardplan/layout/layout.h"
#include "shardplan/sharding/device_weights.h"

namespace shardplan::vllm {

// One offloaded parameter: the layer and the index into that layer's parameters.
struct OffloadedParam {
  int64_t layer = 0;
  size_t param = 0;
};

struct Offload {
  std::vector<OffloadedParam> params;  // in walk order
  Bytes bytes;                         // leaves the card
  // What the pinned allocator takes: each tensor rounded up to a power of two.
  Bytes pinned;
  Bytes largest_layer;  // the most that one layer moves: back on the card for a moment at load time
  int64_t layers = 0;   // of the stage that move anything
  Bytes pool;           // buffers on the card that a prefetch copies into
};

// Whether any of `filter` matches the parameter's name; an empty filter matches all.
bool IsWanted(const DeviceParam& param, const std::vector<std::string>& filter);

// Walks the stage's decoder layers in order and each layer's parameters in the engine's order;
// before each parameter it stops once `budget` bytes have gone, so the last whole parameter
// overshoots. With `filter`, parameters that match none of it are skipped. Embeddings, head, norms
// outside the stack and towers never move.
// Source: vllm/model_executor/offloader/uva.py (d29f7f5c); pinned sizes measured with torch 2.11 on
// an H200 host, 2026-11-29.
Offload WalkUva(const DeviceWeights& weights, const StageRange& stage, Bytes budget,
                const std::vector<std::string>& filter);

// Whether ".{segment}." occurs in ".{name}.": exact dotted segments, so "experts" matches
// "mlp.experts.w2_weight" and "w2" does not.
bool MatchesSegment(std::string_view name, std::string_view segment);

}  // namespace shardplan::vllm

#endif  // SHARDPLAN_ENGINE_VLLM_OFFLOAD_H_
