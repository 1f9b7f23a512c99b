#include "model/families/qwen3_parts.h"

#include <algorithm>

namespace shardplan::families {

void ReadSparseStep(ConfigReader& config, int64_t layers, Architecture* a) {
  const int64_t step = config.IntOr("decoder_sparse_step", 1, kMaxLayers, 1);
  std::vector<int64_t> dense;
  if (config.Has("mlp_only_layers")) dense = config.IntList("mlp_only_layers", 0, layers - 1);
  if (!config.ok() || (step == 1 && dense.empty())) return;
  // As vllm/model_executor/models/qwen3_moe.py and qwen3_next.py count them (d29f7f5c).
  for (int64_t layer = 0; layer < layers; ++layer) {
    const bool listed = std::find(dense.begin(), dense.end(), layer) != dense.end();
    a->moe.layer_is_moe.push_back(!listed && (layer + 1) % step == 0);
  }
  if (MoeLayers(*a, true).empty()) {
    config.Contradiction("decoder_sparse_step", "no layer is left that is a mixture");
  }
  a->dense_intermediate = config.Dim("intermediate_size");
}

ExpertForm ExpertFormOf(const Assumptions& assumptions, ExpertForm stacked) {
  return assumptions.stacked_experts.value_or(true) ? stacked : ExpertForm::kEach;
}

void AddQwenExperts(TableBuilder& t, const std::string& prefix, const Architecture& a,
                    ExpertForm form) {
  const std::string name = prefix + "mlp.experts.";
  const std::string param = "mlp.experts.routed_experts";
  if (form == ExpertForm::kEach) {
    AddExperts(t, name, param, a);
    return;
  }
  const auto stack = [&](const char* projection, Split split, int64_t out, int64_t in) {
    ModuleRow& row = t.Linear(name + projection, param, Role::kRoutedExpert, split, out, in);
    row.form = Form::kStacked;
    row.transposed = form == ExpertForm::kStackedTransposed;
    row.experts = a.moe.experts;
  };
  stack("gate_up_proj", Split::kExpertGate, 2 * a.moe.intermediate, a.hidden);
  stack("down_proj", Split::kExpertDown, a.hidden, a.moe.intermediate);
}

void AddQwen3Layers(TableBuilder& t, const std::string& p, const Architecture& a,
                    const GqaOptions& attention, ExpertForm form) {
  const LayerSet all = LayerSet::Range(0, a.layers());
  AddGqa(t.In(all), p, a, attention);
  InLayers(t, MoeLayers(a, false), [&] {
    AddGatedMlp(t, p + "mlp.", "mlp.", Role::kDenseMlp, Split::kColumn, Split::kRow, a.hidden,
                a.dense_intermediate);
  });
  InLayers(t, MoeLayers(a, true), [&] {
    t.Linear(p + "mlp.gate", "mlp.gate", Role::kRouter, Split::kReplicated, a.moe.experts,
             a.hidden);
    AddQwenExperts(t, p, a, form);
  });
  AddLayerNorms(t.In(all), p, a.hidden);
}

}  // namespace shardplan::families
