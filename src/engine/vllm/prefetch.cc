#include "engine/vllm/prefetch.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "shardplan/base/units.h"

namespace shardplan::vllm {

OffloadBackend ChosenOffload(const EngineSettings& s) {
  const std::string backend = s.offload_backend.value_or("auto");
  if (backend == "prefetch") return OffloadBackend::kPrefetch;
  if (backend == "auto" && s.offload_group_size > 0) return OffloadBackend::kPrefetch;
  return s.cpu_offload_gb > 0 ? OffloadBackend::kUva : OffloadBackend::kNone;
}

std::optional<std::string> PrefetchRefusal(const EngineSettings& s) {
  if (s.offload_backend != "prefetch" && s.offload_group_size == 0) return std::nullopt;
  if (s.offload_num_in_group > s.offload_group_size) {
    return fmt::format("offload_num_in_group ({}) must be <= offload_group_size ({})",
                       s.offload_num_in_group, s.offload_group_size);
  }
  if (s.offload_prefetch_step < 1) {
    return fmt::format(
        "offload_prefetch_step ({}) must be >= 1 when prefetch offloading is enabled "
        "(offload_group_size > 0)",
        s.offload_prefetch_step);
  }
  return std::nullopt;
}

std::optional<std::string> OffloadConflict(const EngineSettings& s) {
  const std::string backend = s.offload_backend.value_or("auto");
  const bool uva = s.cpu_offload_gb > 0;
  const bool prefetch = s.offload_group_size > 0;
  if (backend == "uva" && prefetch) {
    return "Prefetch offload fields are set but offload_backend='uva'. Prefetch settings will be "
           "ignored.";
  }
  if (backend == "prefetch" && uva) {
    return "UVA offload fields are set but offload_backend='prefetch'. UVA settings will be "
           "ignored.";
  }
  if (backend == "auto" && uva && prefetch) {
    return "Both UVA and prefetch offload fields are set with offload_backend='auto'. Prefetch "
           "backend will be selected. Set offload_backend explicitly to suppress this warning.";
  }
  return std::nullopt;
}

Offload WalkPrefetch(const DeviceWeights& weights, const StageRange& stage,
                     const EngineSettings& s) {
  Offload offload;
  std::set<std::tuple<std::string, std::vector<int64_t>, DType>> distinct;
  for (int64_t layer = stage.first; layer < stage.end(); ++layer) {
    const int64_t in_group = (layer - stage.first) % s.offload_group_size;
    if (in_group < s.offload_group_size - s.offload_num_in_group) continue;
    const std::vector<DeviceParam>& params = weights.layer(layer).params;
    Bytes moved;
    bool any = false;
    for (size_t i = 0; i < params.size(); ++i) {
      const DeviceParam& param = params[i];
      if (!IsWanted(param, s.offload_params)) continue;
      any = true;
      offload.params.push_back({layer, i});
      offload.pinned += NextPowerOfTwo(param.bytes);
      moved += param.bytes;
      if (distinct.emplace(param.name, param.shape.dims, param.dtype).second) {
        offload.pool += param.bytes * s.offload_prefetch_step;
      }
    }
    offload.layers += any;
    offload.bytes += moved;
    offload.largest_layer = std::max(offload.largest_layer, moved);
  }
  return offload;
}

Offload WalkOffload(const DeviceWeights& weights, const StageRange& stage,
                    const EngineSettings& s) {
  switch (ChosenOffload(s)) {
    case OffloadBackend::kUva:
      return WalkUva(weights, stage, Gibibytes(s.cpu_offload_gb).ToBytes(), s.cpu_offload_params);
    case OffloadBackend::kPrefetch:
      return WalkPrefetch(weights, stage, s);
    default:
      return {};
  }
}

std::string PrefetchLog(const Offload& offload, const EngineSettings& s) {
  const auto gb = [](Bytes bytes) { return static_cast<double>(bytes.count()) / 1e9; };
  return fmt::format(
      "[PrefetchOffloader] Initialized {} modules. Total GPU memory saved: {:.4f} GB, Static "
      "buffer pool: {:.4f} GB (group_size={}, num_in_group={}, prefetch_step={}, mode=cpu)",
      offload.layers, gb(offload.bytes), gb(offload.pool), s.offload_group_size,
      s.offload_num_in_group, s.offload_prefetch_step);
}

}  // namespace shardplan::vllm
