#include "shardplan/model/contents.h"

#include <algorithm>

#include "model/contents_builder.h"

namespace shardplan {

Amount& Amount::operator+=(const Amount& other) {
  tensors += other.tensors;
  parameters = internal::CheckedAdd(parameters, other.parameters);
  elements = internal::CheckedAdd(elements, other.elements);
  bytes += other.bytes;
  return *this;
}

bool LayerContents::Has(Role role) const {
  return std::binary_search(roles.begin(), roles.end(), role);
}

Amount Contents::Totals() const {
  Amount totals;
  for (const TensorGroup& group : groups) totals += group.amount;
  return totals;
}

Contents ContentsOf(const TensorTable& table) {
  ContentsBuilder builder(table);
  for (const ModuleRow& row : table.rows) {
    const int64_t count = row.Count();
    for (const StoredTensor& tensor : StoredTensors(row)) {
      builder.AddGroup(row, tensor, tensor.dtype, count);
      if (row.layers.empty()) continue;
      const int64_t each = count / row.layers.size();
      const Amount amount = {each, internal::CheckedMul(tensor.parameters, each),
                             internal::CheckedMul(tensor.shape.Elements(), each),
                             SizeOf(tensor.dtype, tensor.shape).value_or(Bytes()) * each};
      for (const int64_t layer : row.layers.layers()) builder.AddToLayer(row, layer, amount);
    }
  }
  return builder.Take();
}

std::optional<int64_t> ActiveParameters(const Architecture& arch, const Contents& contents) {
  if (!contents.complete) return std::nullopt;
  int64_t active = 0;
  for (const TensorGroup& group : contents.groups) {
    if (!group.role) continue;
    int64_t part = group.amount.parameters;
    switch (*group.role) {
      case Role::kVision:
      case Role::kProjector:
      case Role::kDraft:
      case Role::kLeftover:
        continue;
      case Role::kRoutedExpert:
        if (group.experts > arch.moe.top_k) {
          part = internal::CheckedMul(part, arch.moe.top_k) / group.experts;
        }
        break;
      default:
        break;
    }
    active = internal::CheckedAdd(active, part);
  }
  return active;
}

std::string_view ToString(AttentionKind kind) {
  switch (kind) {
    case AttentionKind::kFull:
      return "full";
    case AttentionKind::kMla:
      return "mla";
    case AttentionKind::kKda:
      return "kda";
    case AttentionKind::kSliding:
      return "sliding";
    case AttentionKind::kChunked:
      return "chunked";
    case AttentionKind::kGdn:
      return "gdn";
    case AttentionKind::kMamba2:
      return "mamba2";
    case AttentionKind::kMamba1:
      return "mamba1";
    case AttentionKind::kNone:
      return "none";
  }
  return "none";
}

}  // namespace shardplan
