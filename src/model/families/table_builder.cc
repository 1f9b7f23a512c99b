#include "model/families/families.h"

namespace shardplan::families {

DType ModelDType(ConfigReader& config) {
  const std::string name =
      config.StringOr(config.Has("dtype") ? "dtype" : "torch_dtype", "bfloat16");
  if (name == "float32" || name == "torch.float32") return DType::kF32;
  if (name == "float16" || name == "torch.float16") return DType::kF16;
  if (name != "bfloat16" && name != "torch.bfloat16") {
    config.Contradiction("torch_dtype", "expected bfloat16, float16 or float32");
  }
  return DType::kBF16;
}

std::string ArchitectureName(ConfigReader& config) {
  const std::vector<std::string> names = config.StringListOr("architectures", {});
  return names.empty() ? "" : names.front();
}

TableBuilder& TableBuilder::In(LayerSet layers) {
  layers_ = std::move(layers);
  placement_ = Placement::kLayers;
  return *this;
}

TableBuilder& TableBuilder::At(Placement placement) {
  layers_ = LayerSet();
  placement_ = placement;
  return *this;
}

TableBuilder& TableBuilder::AsDraft(bool draft) {
  draft_ = draft;
  return *this;
}

ModuleRow& TableBuilder::Add(ModuleRow row) {
  row.layers = layers_;
  row.placement = placement_;
  row.dtype = dtype_;
  row.device_dtype = dtype_;
  if (draft_) {
    row.role = Role::kDraft;
    row.placement = Placement::kNotLoaded;
    row.optional = true;
  }
  table_->rows.push_back(std::move(row));
  return table_->rows.back();
}

ModuleRow& TableBuilder::Linear(std::string name, std::string param, Role role, Split split,
                                int64_t out, int64_t in, QuantFormat quant) {
  ModuleRow row;
  row.name = std::move(name);
  row.param = std::move(param);
  row.form = Form::kLinear;
  row.role = role;
  row.split = split;
  row.shape = Shape{out, in};
  row.quant = quant;
  row.quantizable = role != Role::kRouter && !row.is_tower();
  return Add(std::move(row));
}

ModuleRow& TableBuilder::Tensor(std::string name, std::string param, Role role, Split split,
                                Shape shape) {
  ModuleRow row;
  row.name = std::move(name);
  row.param = std::move(param);
  row.form = Form::kTensor;
  row.role = role;
  row.split = split;
  row.shape = std::move(shape);
  return Add(std::move(row));
}

ModuleRow& TableBuilder::Norm(std::string name, std::string param, int64_t width, Role role) {
  return Tensor(name + ".weight", param + ".weight", role, Split::kReplicated, Shape{width});
}

}  // namespace shardplan::families
