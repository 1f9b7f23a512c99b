#include "plan/layer_sums.h"

#include <algorithm>

namespace shardplan {
namespace {

// The width of a row's output; of tensors whose shape is only guessed, the stream's.
int64_t OutputOf(const ModuleRow& row, const Architecture& arch) {
  return row.form == Form::kLinear && row.shape.dims.size() == 2 ? row.shape.dims[0] : arch.hidden;
}

}  // namespace

std::vector<LayerSums> SumsOfLayers(const Architecture& arch, const TensorTable& table) {
  std::vector<LayerSums> sums(static_cast<size_t>(arch.layers()));
  for (const ModuleRow& row : table.rows) {
    const bool routed = row.role == Role::kRoutedExpert;
    const bool shared = row.role == Role::kSharedExpert;
    const bool attention = row.role == Role::kAttention || row.role == Role::kLinearAttention;
    const bool dense = row.role == Role::kDenseMlp;
    if (!routed && !shared && !attention && !dense) continue;
    if (row.placement == Placement::kNotLoaded) continue;
    const bool sliced = row.split == Split::kRow || row.split == Split::kSharedRow;
    for (const int64_t layer : row.layers.layers()) {
      if (layer < 0 || layer >= arch.layers()) continue;
      LayerSums& of = sums[static_cast<size_t>(layer)];
      of.experts = of.experts || routed;
      of.shared_experts = of.shared_experts || shared;
      if (!sliced || routed || shared) continue;
      int64_t& width = attention                        ? of.attention
                       : row.split == Split::kSharedRow ? of.shared_dense
                                                        : of.dense;
      // Scales and packed parts of one guessed linear are rows of their own.
      width = row.slice ? OutputOf(row, arch) : width + OutputOf(row, arch);
    }
  }
  return sums;
}

int64_t BoundaryWidth(const Architecture& arch, int64_t first) {
  if (arch.residual_streams > 1) return arch.hidden * arch.residual_streams;
  const int64_t rows = arch.attn_res_block > 0 ? CeilDiv(first, arch.attn_res_block) : 1;
  return arch.hidden * (1 + rows);
}

void CountBoundary(int64_t from, int64_t to, int64_t ranks, int64_t gather, double bytes,
                   TrafficCounter* out) {
  for (int64_t i = 0; i < ranks; ++i) {
    out->Send(TrafficKind::kPipeline, from + i, to + i, bytes / static_cast<double>(gather));
  }
  for (int64_t i = 0; i < ranks; i += gather) {
    out->AllGather(TrafficKind::kPipeline, {to + i, gather, 1, 0}, bytes);
  }
}

double DispatchedBytes(const std::string& quantization, int64_t width) {
  const auto values = static_cast<double>(width);
  if (quantization == "fp8") return values + 4 * static_cast<double>(CeilDiv(width, 128));
  if (quantization == "nvfp4") return values / 2 + static_cast<double>(CeilDiv(width, 16));
  return 2 * values;
}

}  // namespace shardplan
