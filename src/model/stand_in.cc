#include "shardplan/model/stand_in.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <tuple>
#include <vector>

namespace shardplan {
namespace {

constexpr int64_t kShardLimit = 5'000'000'000;  // save_pretrained's default, decimal

// Rows of one unit of walking: the part before the stack, one layer, or the part after it.
struct Unit {
  int64_t layer = -1;
  std::vector<size_t> rows;
};

std::vector<StandInTensor> TensorsOf(const TensorTable& table, const Unit& unit) {
  std::vector<StandInTensor> tensors;
  for (const size_t row : unit.rows) {
    ForEachTensor(table.rows[row], unit.layer, [&](std::string name, const StoredTensor& stored) {
      tensors.push_back({std::move(name), stored.dtype, stored.shape});
    });
  }
  return tensors;
}

// Largest alignment first, then by name: how the writer of Kimi-K3's shards ordered them.
void SortByAlignment(std::vector<StandInTensor>* tensors) {
  std::sort(tensors->begin(), tensors->end(), [](const StandInTensor& a, const StandInTensor& b) {
    const int bits_a = -BitsOf(a.dtype);
    const int bits_b = -BitsOf(b.dtype);
    return std::tie(bits_a, a.name) < std::tie(bits_b, b.name);
  });
}

int64_t LastLayer(const TensorTable& table) {
  int64_t last = -1;
  for (const ModuleRow& row : table.rows) {
    if (!row.layers.empty()) last = std::max(last, row.layers.layers().back());
  }
  return last;
}

Unit LayerUnit(const TensorTable& table, int64_t layer) {
  Unit unit;
  unit.layer = layer;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    if (table.rows[i].layers.Contains(layer)) unit.rows.push_back(i);
  }
  return unit;
}

template <typename Predicate>
Unit OutsideUnit(const TensorTable& table, Predicate belongs) {
  Unit unit;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const ModuleRow& row = table.rows[i];
    if (row.layers.empty() && belongs(row)) unit.rows.push_back(i);
  }
  return unit;
}

std::string FileName(size_t index, size_t count, int digits) {
  return fmt::format("model-{:05}-of-{:0{}}.safetensors", index + 1, count, digits);
}

// One shard a layer, then embedding and head, projector, tower.
std::vector<Unit> LayerPerShard(const TensorTable& table) {
  std::vector<Unit> units;
  const int64_t last = LastLayer(table);
  for (int64_t layer = 0; layer <= last; ++layer) units.push_back(LayerUnit(table, layer));
  units.push_back(OutsideUnit(table, [](const ModuleRow& row) {
    return row.role != Role::kProjector && row.role != Role::kVision;
  }));
  units.push_back(
      OutsideUnit(table, [](const ModuleRow& row) { return row.role == Role::kProjector; }));
  units.push_back(
      OutsideUnit(table, [](const ModuleRow& row) { return row.role == Role::kVision; }));
  return units;
}

std::vector<Unit> TableOrder(const TensorTable& table) {
  std::vector<Unit> units;
  units.push_back(OutsideUnit(
      table, [](const ModuleRow& row) { return row.placement == Placement::kFirstStage; }));
  const int64_t last = LastLayer(table);
  for (int64_t layer = 0; layer <= last; ++layer) units.push_back(LayerUnit(table, layer));
  units.push_back(OutsideUnit(
      table, [](const ModuleRow& row) { return row.placement != Placement::kFirstStage; }));
  return units;
}

// Where each shard begins in a walk of all tensors: computed once, without keeping the names.
struct Cut {
  size_t unit = 0;
  size_t tensor = 0;
};

std::vector<Cut> GreedyCuts(const TensorTable& table, const std::vector<Unit>& units) {
  std::vector<Cut> cuts = {{0, 0}};
  int64_t size = 0;
  for (size_t u = 0; u < units.size(); ++u) {
    const std::vector<StandInTensor> tensors = TensorsOf(table, units[u]);
    for (size_t t = 0; t < tensors.size(); ++t) {
      const int64_t bytes = SizeOf(tensors[t].dtype, tensors[t].shape).value_or(Bytes()).count();
      if (size > 0 && size + bytes > kShardLimit) {
        cuts.push_back({u, t});
        size = 0;
      }
      size += bytes;
    }
  }
  return cuts;
}

StandInShard GreedyShard(const TensorTable& table, const std::vector<Unit>& units,
                         const std::vector<Cut>& cuts, size_t index) {
  const Cut begin = cuts[index];
  const Cut end = index + 1 < cuts.size() ? cuts[index + 1] : Cut{units.size(), 0};
  StandInShard shard;
  shard.file_name = cuts.size() == 1 ? "model.safetensors" : FileName(index, cuts.size(), 5);
  for (size_t u = begin.unit; u < units.size() && u <= end.unit; ++u) {
    std::vector<StandInTensor> tensors = TensorsOf(table, units[u]);
    const size_t from = u == begin.unit ? begin.tensor : 0;
    const size_t to = u == end.unit ? end.tensor : tensors.size();
    for (size_t t = from; t < to; ++t) shard.tensors.push_back(std::move(tensors[t]));
  }
  return shard;
}

}  // namespace

Result<StandInPlan> PlanStandIn(const ModelSpec& spec, std::string config_text) {
  StandInPlan plan;
  plan.files.push_back({"config.json", std::move(config_text)});
  const auto table = std::make_shared<TensorTable>(spec.table);
  if (table->shard_rule == ShardRule::kLayerPerShard) {
    const auto units = std::make_shared<std::vector<Unit>>(LayerPerShard(*table));
    plan.shard_count = units->size();
    plan.shard = [table, units](size_t index) -> Result<StandInShard> {
      StandInShard shard;
      // Five digits, then six: the publisher's spelling.
      shard.file_name = FileName(index, units->size(), 6);
      shard.tensors = TensorsOf(*table, (*units)[index]);
      SortByAlignment(&shard.tensors);
      return shard;
    };
    return plan;
  }
  const auto units = std::make_shared<std::vector<Unit>>(TableOrder(*table));
  const auto cuts = std::make_shared<std::vector<Cut>>(GreedyCuts(*table, *units));
  plan.shard_count = cuts->size();
  plan.shard = [table, units, cuts](size_t index) -> Result<StandInShard> {
    return GreedyShard(*table, *units, *cuts, index);
  };
  return plan;
}

}  // namespace shardplan
