// What a model's layers exchange, whatever the engine: widths, by the table.
#ifndef SHARDPLAN_PLAN_LAYER_SUMS_H_
#define SHARDPLAN_PLAN_LAYER_SUMS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "plan/traffic_counter.h"
#include "shardplan/model/architecture.h"
#include "shardplan/model/tensor_table.h"

namespace shardplan {

// Sums over tensor-parallel ranks in a decoder layer, by the table: the widths of the outputs that
// are split over ranks along their inputs.
struct LayerSums {
  int64_t attention = 0;
  int64_t dense = 0;         // of dense MLPs that are always sliced,
  int64_t shared_dense = 0;  // and of those that sequence parallelism keeps whole
  bool shared_experts = false;
  bool experts = false;
};
std::vector<LayerSums> SumsOfLayers(const Architecture& arch, const TensorTable& table);

// Values of a token that cross into the stage whose first layer is `first`: the stream and its
// residual; of attention residuals one row for each block of layers begun (Kimi-K3); of
// hyper-connections all streams.
int64_t BoundaryWidth(const Architecture& arch, int64_t first);

// What crosses from the ranks of one stage to those of the next: every rank sends its part of a
// tensor of `bytes`, one of as many parts as `gather` has ranks, and each such group gathers the
// parts. `gather` ranks divide the stage's.
// Source: distributed/parallel_state.py send_tensor_dict of vLLM (as of 2026; not compared with one
// commit) and SGLang.
void CountBoundary(int64_t from, int64_t to, int64_t ranks, int64_t gather, double bytes,
                   TrafficCounter* out);

// Bytes of one routed token as kernels send it that quantize before they do: FP8 with a float32
// scale for 128 values; NVFP4 with a scale byte for 16; two bytes a value otherwise.
double DispatchedBytes(const std::string& quantization, int64_t width);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_LAYER_SUMS_H_
