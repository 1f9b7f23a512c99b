// Slices that no kernel for packed integers takes.
#ifndef SHARDPLAN_ENGINE_VLLM_MARLIN_TILES_H_
#define SHARDPLAN_ENGINE_VLLM_MARLIN_TILES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "engine/vllm/context.h"
#include "shardplan/sharding/device_weights.h"

namespace shardplan::vllm {

// A rank's slice of a linear layer in GPTQ or compressed-tensors integers: inputs and outputs, the
// fused ones together.
struct TileMiss {
  std::string param;
  int64_t inputs = 0;
  int64_t outputs = 0;
};

// Whether Marlin's kernels cover the slice: tiles of 64 outputs × 128 inputs or 128 × 64. Machete
// and CUTLASS ask for more, Exllama's kernel for float16.
// Source: quantization/utils/marlin_utils.py (d29f7f5c).
bool FitsMarlin(int64_t inputs, int64_t outputs);

// The first linear layer whose slice has no kernel; nothing for other formats. AWQ falls back to
// kernels of its own. `weights` are a rank's of a layout that divides.
std::optional<TileMiss> FindTileMiss(const Context& context, const DeviceWeights& weights);

// The engine's sentence for it.
std::string TileWords(const TileMiss& miss);

}  // namespace shardplan::vllm

#endif  // SHARDPLAN_ENGINE_VLLM_MARLIN_TILES_H_
