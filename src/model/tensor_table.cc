#include "shardplan/model/tensor_table.h"

#include <algorithm>

namespace shardplan {

const std::vector<Role>& AllRoles() {
  static const std::vector<Role> roles = {Role::kEmbedding,
                                          Role::kHead,
                                          Role::kNorm,
                                          Role::kAttention,
                                          Role::kLinearAttention,
                                          Role::kDenseMlp,
                                          Role::kRouter,
                                          Role::kRoutedExpert,
                                          Role::kSharedExpert,
                                          Role::kLatentProjection,
                                          Role::kAttentionResidual,
                                          Role::kHyperConnection,
                                          Role::kVision,
                                          Role::kProjector,
                                          Role::kDraft,
                                          Role::kLeftover};
  return roles;
}

std::string_view ToString(Role role) {
  switch (role) {
    case Role::kEmbedding:
      return "embedding";
    case Role::kHead:
      return "head";
    case Role::kNorm:
      return "norm";
    case Role::kAttention:
      return "attention";
    case Role::kLinearAttention:
      return "linear_attention";
    case Role::kDenseMlp:
      return "dense_mlp";
    case Role::kRouter:
      return "router";
    case Role::kRoutedExpert:
      return "routed_expert";
    case Role::kSharedExpert:
      return "shared_expert";
    case Role::kLatentProjection:
      return "latent_projection";
    case Role::kAttentionResidual:
      return "attention_residual";
    case Role::kHyperConnection:
      return "hyper_connection";
    case Role::kVision:
      return "vision";
    case Role::kProjector:
      return "projector";
    case Role::kDraft:
      return "draft";
    case Role::kLeftover:
      return "leftover";
  }
  return "leftover";
}

LayerSet::LayerSet(std::vector<int64_t> layers) : layers_(std::move(layers)) {
  std::sort(layers_.begin(), layers_.end());
}

LayerSet LayerSet::Range(int64_t first, int64_t last) {
  LayerSet set;
  for (int64_t layer = first; layer < last; ++layer) set.layers_.push_back(layer);
  return set;
}

bool LayerSet::Contains(int64_t layer) const {
  return std::binary_search(layers_.begin(), layers_.end(), layer);
}

int64_t LayerSet::CountIn(int64_t first, int64_t last) const {
  return std::lower_bound(layers_.begin(), layers_.end(), last) -
         std::lower_bound(layers_.begin(), layers_.end(), first);
}

int64_t ModuleRow::Count() const {
  int64_t count = layers.empty() ? 1 : layers.size();
  if (form != Form::kStacked) count = internal::CheckedMul(count, std::max<int64_t>(experts, 1));
  return internal::CheckedMul(count, std::max<int64_t>(blocks, 1));
}

std::vector<StoredTensor> StoredTensors(const ModuleRow& row) {
  std::vector<StoredTensor> out;
  if (!row.stored) return out;
  if (row.form == Form::kTensor) {
    const int64_t values = row.slice ? row.slice->values : 1;
    out.push_back({"", row.dtype, row.shape, internal::CheckedMul(row.shape.Elements(), values)});
    return out;
  }
  const int64_t o = row.shape.dims[0];
  const int64_t i = row.shape.dims[1];
  if (row.form == Form::kStacked) {
    if (row.quant.scheme == QuantScheme::kMxfp4) {  // as gpt-oss stores it: 16 bytes a block
      const int64_t groups = row.quant.Groups(i);
      const int64_t weights = internal::CheckedMul(row.experts, internal::CheckedMul(o, i));
      out.push_back({"_blocks", DType::kU8, Shape{row.experts, o, groups, 16}, weights});
      out.push_back({"_scales", DType::kU8, Shape{row.experts, o, groups}, 0});
    }
    if (row.bias) {
      const int64_t biases = internal::CheckedMul(row.experts, o);
      out.push_back({"_bias", row.dtype, Shape{row.experts, o}, biases});
    }
    if (!row.quant.plain()) return out;
    Shape stack = row.transposed ? Shape{row.experts, i, o} : Shape{row.experts, o, i};
    const int64_t elements = stack.Elements();
    out.push_back({"", row.dtype, std::move(stack), elements});
    return out;
  }
  for (StoredPart& part : StoredParts(row.quant, o, i, row.dtype)) {
    const int64_t weights = part.holds_weights ? internal::CheckedMul(o, i) : 0;
    out.push_back({std::move(part.suffix), part.dtype, std::move(part.shape), weights});
  }
  if (row.bias) out.push_back({".bias", row.dtype, Shape{o}, o});
  return out;
}

void DropLeftOut(TensorTable* table) {
  std::erase_if(table->rows, [](const ModuleRow& row) { return row.left_out; });
}

std::vector<ModuleRow> SlicedRows(const TensorTable& table) {
  std::vector<ModuleRow> rows;
  for (const ModuleRow& row : table.rows) {
    for (const RowPart& part : row.parts) {
      ModuleRow& slice = rows.emplace_back(row);
      slice.parts.clear();
      slice.split = part.split;
      slice.kv_heads = part.kv_heads;
      slice.shape.dims[0] = part.rows;
    }
    if (row.parts.empty()) rows.push_back(row);
  }
  return rows;
}

TensorTotals Totals(const TensorTable& table) {
  TensorTotals totals;
  for (const ModuleRow& row : table.rows) {
    const int64_t count = row.Count();
    for (const StoredTensor& tensor : StoredTensors(row)) {
      totals.tensors = internal::CheckedAdd(totals.tensors, count);
      totals.payload += SizeOf(tensor.dtype, tensor.shape).value_or(Bytes()) * count;
      totals.parameters =
          internal::CheckedAdd(totals.parameters, internal::CheckedMul(tensor.parameters, count));
      totals.elements = internal::CheckedAdd(totals.elements,
                                             internal::CheckedMul(tensor.shape.Elements(), count));
    }
  }
  return totals;
}

std::string ExpandName(std::string_view name, int64_t layer, int64_t expert, int64_t block) {
  std::string out;
  for (size_t i = 0; i < name.size(); ++i) {
    const std::string_view rest = name.substr(i);
    if (rest.starts_with("{L}")) {
      out += std::to_string(layer);
    } else if (rest.starts_with("{E}")) {
      out += std::to_string(expert);
    } else if (rest.starts_with("{B}")) {
      out += std::to_string(block);
    } else {
      out += name[i];
      continue;
    }
    i += 2;
  }
  return out;
}

void ForEachTensor(const ModuleRow& row, int64_t layer,
                   const std::function<void(std::string name, const StoredTensor&)>& visit) {
  const std::vector<StoredTensor> tensors = StoredTensors(row);
  const int64_t experts = row.form == Form::kStacked ? 1 : std::max<int64_t>(row.experts, 1);
  for (int64_t expert = 0; expert < experts; ++expert) {
    for (int64_t block = 0; block < std::max<int64_t>(row.blocks, 1); ++block) {
      const std::string name = ExpandName(row.name, layer, expert, block);
      for (const StoredTensor& tensor : tensors) visit(name + tensor.suffix, tensor);
    }
  }
}

}  // namespace shardplan
