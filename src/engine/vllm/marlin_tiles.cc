#include "engine/vllm/marlin_tiles.h"

#include <fmt/format.h>

namespace shardplan::vllm {
namespace {

constexpr int64_t kSmallTile = 64;
constexpr int64_t kLargeTile = 128;

bool IsPackedInteger(QuantScheme scheme) {
  return scheme == QuantScheme::kGptq || scheme == QuantScheme::kIntPacked;
}

// Values in one of the 32-bit words of `param`'s format; 0 where it is none of these formats.
int64_t PackOf(const TensorTable& table, Role role) {
  for (const ModuleRow& row : table.rows) {
    if (row.role == role && IsPackedInteger(row.quant.scheme)) return row.quant.pack();
  }
  return 0;
}

std::optional<TileMiss> Check(const DeviceParam& param, int64_t pack) {
  const std::vector<int64_t>& dims = param.shape.dims;
  if (dims.size() != 2 || param.dtype != DType::kI32) return std::nullopt;
  TileMiss slice{param.name, 0, 0};
  if (param.name.ends_with(".qweight")) {
    slice.inputs = dims[0] * pack;
    slice.outputs = dims[1];
  } else if (param.name.ends_with(".weight_packed")) {
    slice.inputs = dims[1] * pack;
    slice.outputs = dims[0];
  } else {
    return std::nullopt;
  }
  if (FitsMarlin(slice.inputs, slice.outputs)) return std::nullopt;
  return slice;
}

}  // namespace

bool FitsMarlin(int64_t inputs, int64_t outputs) {
  return (outputs % kSmallTile == 0 && inputs % kLargeTile == 0) ||
         (outputs % kLargeTile == 0 && inputs % kSmallTile == 0);
}

std::optional<TileMiss> FindTileMiss(const Context& c, const DeviceWeights& weights) {
  if (c.resolved.dtype == DType::kF16) return std::nullopt;
  for (const LayerClass& layer : weights.classes) {
    for (const DeviceParam& param : layer.params) {
      if (param.dtype != DType::kI32) continue;
      const int64_t pack = PackOf(*c.table, param.role);
      if (pack == 0) continue;
      if (const auto miss = Check(param, pack)) return miss;
    }
  }
  return std::nullopt;
}

std::string TileWords(const TileMiss& miss) {
  const bool inputs = miss.inputs % kSmallTile != 0 || miss.outputs % kSmallTile == 0;
  return fmt::format(
      "{}: Weight {}_size_per_partition = {} is not divisible by {} = {}. Consider reducing "
      "tensor_parallel_size or running with --quantization gptq.",
      miss.param, inputs ? "input" : "output", inputs ? miss.inputs : miss.outputs,
      inputs ? "min_thread_k" : "min_thread_n", inputs ? kLargeTile : kSmallTile);
}

}  // namespace shardplan::vllm
