#include <algorithm>

#include "model/quantization_plan.h"

namespace shardplan {
namespace {

// What the engine calls a format; decides kernels and what loading adds.
std::string EngineName(QuantScheme scheme) {
  switch (scheme) {
    case QuantScheme::kPlain:
      return "";
    case QuantScheme::kFp8Block:
    case QuantScheme::kFp8Tensor:
    case QuantScheme::kFp8Channel:
      return "fp8";
    case QuantScheme::kIntPacked:
      return "int4";
    case QuantScheme::kBnb4:
      return "bitsandbytes";
    default:
      return std::string(ToString(scheme));
  }
}

bool IsExpertSplit(Split split) {
  return split == Split::kExpertGate || split == Split::kExpertUp || split == Split::kExpertDown;
}

bool IsQuantizable(const ModuleRow& row) {
  return row.quantizable && row.stored && row.form != Form::kTensor && row.quant.plain();
}

QuantFormat FormatOf(const QuantPlan& plan, const TensorTable& table, const ModuleRow& row,
                     int64_t layer) {
  QuantFormat format = plan.FormatFor(ExpandName(row.name, layer, 0, 0));
  if (format.scheme == QuantScheme::kFp8Block && !format.compressed_names) {
    format.scale_dtype = table.fp8_scale_dtype;
  }
  return format;
}

// Layers of one row that share a format.
struct Share {
  QuantFormat format;
  std::vector<int64_t> layers;
};

std::vector<Share> SharesOf(const QuantPlan& plan, const TensorTable& table, const ModuleRow& row) {
  std::vector<Share> shares;
  for (const int64_t layer : row.layers.layers()) {
    const QuantFormat format = FormatOf(plan, table, row, layer);
    const auto it = std::find_if(shares.begin(), shares.end(),
                                 [&](const Share& share) { return share.format == format; });
    if (it == shares.end()) {
      shares.push_back({format, {layer}});
    } else {
      it->layers.push_back(layer);
    }
  }
  return shares;
}

void Append(const QuantPlan& plan, const TensorTable& table, ModuleRow row,
            std::vector<ModuleRow>* out) {
  if (!IsQuantizable(row)) {
    out->push_back(std::move(row));
    return;
  }
  if (row.layers.empty()) {
    row.quant = FormatOf(plan, table, row, 0);
    out->push_back(std::move(row));
    return;
  }
  for (Share& share : SharesOf(plan, table, row)) {
    ModuleRow part = row;
    part.layers = LayerSet(std::move(share.layers));
    part.quant = share.format;
    out->push_back(std::move(part));
  }
}

bool HasScales(const QuantPlan& plan, AttentionScale scale) {
  switch (scale) {
    case AttentionScale::kNone:
      return true;
    case AttentionScale::kGqa:
      return plan.gqa_scales;
    case AttentionScale::kMla:
      return plan.mla_scales;
  }
  return true;
}

}  // namespace

void ApplyQuantization(const QuantPlan& plan, ModelSpec* spec) {
  std::vector<ModuleRow> rows;
  for (ModuleRow& row : spec->table.rows) {
    if (!HasScales(plan, row.attention_scale)) continue;
    if (plan.plain() || spec->quantization_read) {
      rows.push_back(std::move(row));
    } else {
      Append(plan, spec->table, std::move(row), &rows);
    }
  }
  spec->table.rows = std::move(rows);
  Architecture& arch = spec->arch;
  arch.fp8_cache |= plan.fp8_cache;
  if (!arch.quantization.empty()) return;
  arch.quantization = EngineQuantization(spec->table);
}

std::string EngineQuantization(const TensorTable& table) {
  for (const bool experts : {true, false}) {
    for (const ModuleRow& row : table.rows) {
      const QuantFormat format = row.device_quant.value_or(row.quant);
      if (format.plain() || row.role == Role::kDraft) continue;
      if (experts && !IsExpertSplit(row.split)) continue;
      return EngineName(format.scheme);
    }
  }
  return "";
}

}  // namespace shardplan
