#include "plan/weight_items.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardplan {

void WeightItems::Add(std::string name, const DeviceParam& param) {
  // A tower's blocks are one parameter already.
  if (const size_t block = name.find("{B}"); block != std::string::npos) {
    name.replace(block, 3, "*");
  }
  const auto it = std::find_if(items_.begin(), items_.end(), [&](const WeightItem& item) {
    return item.name == name && item.shape == param.shape.ToString() && item.rule == param.rule;
  });
  if (it != items_.end()) {
    it->count += param.blocks;
    it->bytes += param.bytes;
    return;
  }
  WeightItem item;
  item.name = std::move(name);
  item.rule = param.rule;
  item.shape = param.shape.ToString();
  item.count = param.blocks;
  item.bytes = param.bytes;
  item.basis = Softer(basis_, param.basis);
  item.source = fmt::format("{}, {}", ToString(param.role), NameOf(param.dtype));
  items_.push_back(std::move(item));
}

void WeightItems::AddStage(const TensorTable& table, const DeviceWeights& weights,
                           const StageRange& stage, bool first, bool last) {
  const auto outside = [&](const std::vector<DeviceParam>& params) {
    for (const DeviceParam& param : params) Add(param.name, param);
  };
  if (first) outside(weights.first_stage);
  const std::string& prefix = table.layer_prefix;
  const std::string shown = prefix.substr(0, prefix.find("{L}")) + "*.";
  for (int64_t layer = stage.first; layer < stage.end(); ++layer) {
    for (const DeviceParam& param : weights.layer(layer).params) Add(shown + param.name, param);
  }
  if (last) outside(weights.last_stage);
  outside(weights.every_stage);
}

Status CheckLegal(bool legal, const std::vector<Finding>& findings) {
  if (legal) return {};
  for (const Finding& finding : findings) {
    if (finding.severity == Severity::kError) {
      return Fail(ErrorCode::kUsage, finding.subject, finding.message, finding.fix);
    }
  }
  return {};
}

Status CheckRank(int64_t rank, int64_t world) {
  if (rank >= 0 && rank < world) return {};
  return Fail(ErrorCode::kUsage, fmt::format("--rank {}", rank),
              fmt::format("expected a rank from 0 to {}", world - 1));
}

}  // namespace shardplan
