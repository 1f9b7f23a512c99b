// What every family file provides, and the small vocabulary their tables are written in.
#ifndef SHARDPLAN_MODEL_FAMILIES_FAMILIES_H_
#define SHARDPLAN_MODEL_FAMILIES_FAMILIES_H_

#include <string>
#include <utility>

#include "model/config_reader.h"
#include "shardplan/model/family.h"

namespace shardplan::families {

// One entry point per file; registered in family.cc.
Result<ModelSpec> BuildKimiK3(ConfigReader& config, const Assumptions& assumptions);
Result<ModelSpec> BuildDeepseekV3(ConfigReader& config, const Assumptions& assumptions);
Result<ModelSpec> BuildDeepseekV32(ConfigReader& config, const Assumptions& assumptions);
Result<ModelSpec> BuildDeepseekV4(ConfigReader& config, const Assumptions& assumptions);
Result<ModelSpec> BuildGlmMoeDsa(ConfigReader& config, const Assumptions& assumptions);
Result<ModelSpec> BuildKimiK25(ConfigReader& config, const Assumptions& assumptions);
Result<ModelSpec> BuildKimiLinear(ConfigReader& config, const Assumptions& assumptions);
Result<ModelSpec> BuildGlm4Moe(ConfigReader& config, const Assumptions& assumptions);
Result<ModelSpec> BuildGptOss(ConfigReader& config, const Assumptions& assumptions);
Result<ModelSpec> BuildMinimaxM2(ConfigReader& config, const Assumptions& assumptions);
Result<ModelSpec> BuildMixtral(ConfigReader& config, const Assumptions& assumptions);
Result<ModelSpec> BuildQwen35(ConfigReader& config, const Assumptions& assumptions);
Result<ModelSpec> BuildQwen3Moe(ConfigReader& config, const Assumptions& assumptions);
Result<ModelSpec> BuildQwen3Next(ConfigReader& config, const Assumptions& assumptions);
Result<ModelSpec> BuildQwen3Vl(ConfigReader& config, const Assumptions& assumptions);
Result<ModelSpec> BuildDense(ConfigReader& config, const Assumptions& assumptions);
Result<ModelSpec> BuildBailingMoe(ConfigReader& config, const Assumptions& assumptions);
Result<ModelSpec> BuildDots1(ConfigReader& config, const Assumptions& assumptions);
Result<ModelSpec> BuildDflash(ConfigReader& config, const Assumptions& assumptions);
Result<ModelSpec> BuildDspark(ConfigReader& config, const Assumptions& assumptions);
Result<ModelSpec> BuildEagle(ConfigReader& config, const Assumptions& assumptions);
Result<ModelSpec> BuildEagle3(ConfigReader& config, const Assumptions& assumptions);
Result<ModelSpec> BuildEagle3Mla(ConfigReader& config, const Assumptions& assumptions);
Result<ModelSpec> BuildGemma(ConfigReader& config, const Assumptions& assumptions);
Result<ModelSpec> BuildGemma4(ConfigReader& config, const Assumptions& assumptions);
Result<ModelSpec> BuildGraniteMoe(ConfigReader& config, const Assumptions& assumptions);
Result<ModelSpec> BuildGrok1(ConfigReader& config, const Assumptions& assumptions);
Result<ModelSpec> BuildJamba(ConfigReader& config, const Assumptions& assumptions);
Result<ModelSpec> BuildLlama4(ConfigReader& config, const Assumptions& assumptions);
Result<ModelSpec> BuildMimoV2Flash(ConfigReader& config, const Assumptions& assumptions);
Result<ModelSpec> BuildLongcatFlash(ConfigReader& config, const Assumptions& assumptions);
Result<ModelSpec> BuildMedusa(ConfigReader& config, const Assumptions& assumptions);
Result<ModelSpec> BuildMistral3(ConfigReader& config, const Assumptions& assumptions);
Result<ModelSpec> BuildNemotronH(ConfigReader& config, const Assumptions& assumptions);
Result<ModelSpec> BuildNemotronNas(ConfigReader& config, const Assumptions& assumptions);
Result<ModelSpec> BuildPhi3(ConfigReader& config, const Assumptions& assumptions);
Result<ModelSpec> BuildQwen(ConfigReader& config, const Assumptions& assumptions);

// "bfloat16" → BF16, from torch_dtype or dtype; BF16 when neither is there.
DType ModelDType(ConfigReader& config);

// The class name in "architectures"; empty when there is none.
std::string ArchitectureName(ConfigReader& config);

// Appends rows to a table; the names say what a row is. All rows take the model's dtype unless told
// otherwise, and a layer set given once by `In`.
class TableBuilder {
 public:
  TableBuilder(TensorTable* table, DType dtype) : table_(table), dtype_(dtype) {}

  // Later rows belong to these layers / have this placement.
  TableBuilder& In(LayerSet layers);
  TableBuilder& At(Placement placement);
  // Later rows belong to a multi-token-prediction layer: in the file, on no card, may be absent.
  TableBuilder& AsDraft(bool draft);

  // A linear "<name>.weight" of [out, in] that becomes (part of) the engine's `param`.
  ModuleRow& Linear(std::string name, std::string param, Role role, Split split, int64_t out,
                    int64_t in, QuantFormat quant = {});
  // One tensor called exactly `name`; its parameter has the same name unless given.
  ModuleRow& Tensor(std::string name, std::string param, Role role, Split split, Shape shape);
  // A norm's weight: "<name>.weight", replicated, [width].
  ModuleRow& Norm(std::string name, std::string param, int64_t width, Role role = Role::kNorm);

 private:
  ModuleRow& Add(ModuleRow row);

  TensorTable* table_;
  DType dtype_;
  LayerSet layers_;
  Placement placement_ = Placement::kLayers;
  bool draft_ = false;
};

}  // namespace shardplan::families

#endif  // SHARDPLAN_MODEL_FAMILIES_FAMILIES_H_
