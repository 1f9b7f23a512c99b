#include "engine/vllm/offload.h"

#include <algorithm>

namespace shardplan::vllm {

bool MatchesSegment(std::string_view name, std::string_view segment) {
  if (segment.empty()) return false;
  size_t at = 0;
  while ((at = name.find(segment, at)) != std::string_view::npos) {
    const size_t end = at + segment.size();
    const bool starts = at == 0 || name[at - 1] == '.';
    const bool ends = end == name.size() || name[end] == '.';
    if (starts && ends) return true;
    ++at;
  }
  return false;
}

bool IsWanted(const DeviceParam& param, const std::vector<std::string>& filter) {
  return filter.empty() || std::any_of(filter.begin(), filter.end(), [&](const auto& segment) {
           return MatchesSegment(param.name, segment);
         });
}

Offload WalkUva(const DeviceWeights& weights, const StageRange& stage, Bytes budget,
                const std::vector<std::string>& filter) {
  Offload offload;
  for (int64_t layer = stage.first; layer < stage.end(); ++layer) {
    const std::vector<DeviceParam>& params = weights.layer(layer).params;
    Bytes moved;
    for (size_t i = 0; i < params.size(); ++i) {
      if (offload.bytes >= budget) break;
      if (!IsWanted(params[i], filter)) continue;
      offload.params.push_back({layer, i});
      offload.bytes += params[i].bytes;
      offload.pinned += NextPowerOfTwo(params[i].bytes);
      moved += params[i].bytes;
    }
    offload.layers += moved > Bytes();
    offload.largest_layer = std::max(offload.largest_layer, moved);
    if (offload.bytes >= budget) break;
  }
  return offload;
}

}  // namespace shardplan::vllm
