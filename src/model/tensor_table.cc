#include "shardplan/model/tensor_table.h"

#include <algorithm>

namespace shardplan {

std::string_view ToString(QuantScheme scheme) {
  switch (scheme) {
    case QuantScheme::kPlain:
      return "plain";
    case QuantScheme::kFp8Block:
      return "fp8_block";
    case QuantScheme::kMxfp4:
      return "mxfp4";
  }
  return "plain";
}

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
    out.push_back({"", row.dtype, row.shape, row.shape.Elements()});
    return out;
  }
  const int64_t o = row.shape.dims[0];
  const int64_t i = row.shape.dims[1];
  if (row.form == Form::kStacked) {
    Shape stack = row.transposed ? Shape{row.experts, i, o} : Shape{row.experts, o, i};
    const int64_t elements = stack.Elements();
    out.push_back({"", row.dtype, std::move(stack), elements});
    return out;
  }
  const int64_t weights = internal::CheckedMul(o, i);
  switch (row.quant.scheme) {
    case QuantScheme::kPlain:
      out.push_back({".weight", row.dtype, row.shape, weights});
      break;
    case QuantScheme::kFp8Block:
      out.push_back({".weight", DType::kF8E4M3, row.shape, weights});
      out.push_back({".weight_scale_inv", row.quant.scale_dtype,
                     Shape{CeilDiv(o, row.quant.block_out), CeilDiv(i, row.quant.block_in)}, 0});
      break;
    case QuantScheme::kMxfp4:
      out.push_back({".weight_packed", DType::kU8, Shape{o, CeilDiv(i, 2)}, weights});
      out.push_back({".weight_scale", DType::kU8, Shape{o, CeilDiv(i, row.quant.block_in)}, 0});
      break;
  }
  if (row.bias) out.push_back({".bias", row.dtype, Shape{o}, o});
  return out;
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
