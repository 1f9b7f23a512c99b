#include "plan/stage_filter.h"

#include <algorithm>

#include "model/matcher.h"

namespace shardplan {

StageFilter::StageFilter(const TensorTable& table, const std::vector<std::string>& patterns,
                         const std::vector<IndexEntry>& entries, size_t shards)
    : shards_(shards) {
  const Matcher matcher(table);
  std::vector<const std::vector<size_t>*> ids;
  for (const std::string& pattern : patterns) ids.push_back(&matcher.ForPattern(pattern));
  layers_.reserve(entries.size());
  shard_of_.reserve(entries.size());
  for (const IndexEntry& entry : entries) {
    const RowCandidate* const candidate = matcher.Find(*ids[entry.pattern], entry.indices);
    int32_t layer = kOutside;
    if (candidate != nullptr) {
      const ModuleRow& row = matcher.RowOf(*candidate);
      if (row.placement == Placement::kLayers) {
        layer = static_cast<int32_t>(matcher.LayerOf(*candidate, entry.indices));
      } else if (row.role == Role::kLeftover) {
        layer = kNowhere;
      }
    }
    layers_.push_back(layer);
    shard_of_.push_back(entry.shard);
  }
}

StageFilter::Kept StageFilter::For(const std::vector<StageRange>& stages) const {
  const auto on_stage = [&](int32_t layer) {
    return std::any_of(stages.begin(), stages.end(), [&](const StageRange& stage) {
      return layer >= stage.first && layer < stage.end();
    });
  };
  Kept kept;
  kept.entries.resize(layers_.size());
  kept.shards.resize(shards_);
  for (size_t i = 0; i < layers_.size(); ++i) {
    if (layers_[i] == kNowhere) continue;
    if (layers_[i] != kOutside && !on_stage(layers_[i])) continue;
    kept.entries[i] = true;
    kept.shards[shard_of_[i]] = true;
  }
  for (size_t i = 0; i < layers_.size(); ++i) {
    if (layers_[i] == kNowhere && kept.shards[shard_of_[i]]) kept.entries[i] = true;
  }
  kept.count = std::count(kept.entries.begin(), kept.entries.end(), true);
  return kept;
}

}  // namespace shardplan
