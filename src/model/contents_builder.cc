#include "model/contents_builder.h"

#include <algorithm>
#include <utility>

namespace shardplan {

ContentsBuilder::ContentsBuilder(const TensorTable& table) {
  for (const ModuleRow& row : table.rows) {
    if (row.layers.empty() || row.role == Role::kDraft) continue;
    decoder_layers_ = std::max(decoder_layers_, row.layers.layers().back() + 1);
  }
  for (const ModuleRow& row : table.rows) {
    if (row.layers.empty()) continue;
    const size_t needed = static_cast<size_t>(IndexOf(row, row.layers.layers().back())) + 1;
    if (layers_.size() < needed) layers_.resize(needed);
    if (row.role == Role::kLeftover || !row.stored) continue;
    for (const int64_t layer : row.layers.layers()) {
      std::vector<Role>& roles = layers_[static_cast<size_t>(IndexOf(row, layer))].roles;
      const auto at = std::lower_bound(roles.begin(), roles.end(), row.role);
      if (at == roles.end() || *at != row.role) roles.insert(at, row.role);
    }
  }
  for (size_t i = 0; i < layers_.size(); ++i) layers_[i].layer = static_cast<int64_t>(i);
}

void ContentsBuilder::AddGroup(const ModuleRow& row, const StoredTensor& tensor, DType dtype,
                               int64_t count) {
  if (count == 0) return;
  TensorGroup group;
  group.name = row.name + tensor.suffix;
  group.role = row.role;
  group.placement = row.placement;
  group.dtype = dtype;
  group.shape = tensor.shape;
  const bool stacked = row.slice && row.slice->stacked && !row.shape.dims.empty();
  group.experts = stacked ? row.shape.dims[0] : row.experts;
  group.amount = {count, internal::CheckedMul(tensor.parameters, count),
                  internal::CheckedMul(tensor.shape.Elements(), count),
                  SizeOf(dtype, tensor.shape).value_or(Bytes()) * count};
  groups_.push_back(std::move(group));
}

void ContentsBuilder::AddUnexplained(const std::string& pattern, DType dtype, const Shape& shape,
                                     bool leftover) {
  TensorGroup& group = unexplained_[{pattern, dtype, shape}];
  if (group.amount.tensors == 0) {
    group.name = pattern;
    group.dtype = dtype;
    group.shape = shape;
    if (leftover) group.role = Role::kLeftover;
  }
  const int64_t elements = shape.Elements();
  group.amount += {1, elements, elements, SizeOf(dtype, shape).value_or(Bytes())};
}

Contents ContentsBuilder::Take() {
  Contents contents;
  contents.groups = std::move(groups_);
  for (auto& [key, group] : unexplained_) contents.groups.push_back(std::move(group));
  for (LayerContents& layer : layers_) {
    if (layer.amount.tensors > 0) contents.layers.push_back(std::move(layer));
  }
  return contents;
}

}  // namespace shardplan
