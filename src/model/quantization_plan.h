// What a checkpoint says about its quantization, and the format that follows for each module.
#ifndef SHARDPLAN_MODEL_QUANTIZATION_PLAN_H_
#define SHARDPLAN_MODEL_QUANTIZATION_PLAN_H_

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/config_reader.h"
#include "model/module_patterns.h"
#include "shardplan/model/family.h"
#include "shardplan/model/quantization.h"

namespace shardplan {

// Modules that share a format; an empty pattern list stands for every linear.
struct QuantRule {
  ModulePatterns targets;
  bool every_linear = false;
  QuantFormat format;
};

struct QuantPlan {
  std::string method;  // as the engine names it: "fp8", "awq", "nvfp4"; empty: not quantized
  std::vector<QuantRule> rules;  // the first that matches counts
  // Formats given module by module, or for everything below a module; they come before the rules.
  std::unordered_map<std::string, QuantFormat> by_module;
  ModulePatterns ignore;
  bool fp8_cache = false;  // the checkpoint was calibrated for an FP8 KV cache
  // The engine keeps four scales beside the attention of these kinds.
  bool gqa_scales = false;
  bool mla_scales = false;

  bool plain() const { return method.empty(); }
  QuantFormat FormatFor(std::string_view module) const;
};

// Reads quantization_config (of the config or of its text_config), or where there is none the
// "quantization" of a hf_quant_config.json beside it (`sidecar`, may be empty text; `sidecar_path`
// for messages). Fails with kUnsupported for methods that are not known, naming them.
Result<QuantPlan> ReadQuantizationPlan(ConfigReader& config, std::string_view sidecar,
                                       const std::string& sidecar_path);

// Gives every quantizable row of the table its format; rows whose layers differ are split. Drops
// the engine's attention scales where the method has none, and sets what the architecture says of
// quantization. Does nothing where the family has read the quantization itself.
void ApplyQuantization(const QuantPlan& plan, ModelSpec* spec);

// What the engine calls the quantization of a table: that of the routed experts where there are
// any, otherwise of the first quantized linear; empty for none.
std::string EngineQuantization(const TensorTable& table);

}  // namespace shardplan

#endif  // SHARDPLAN_MODEL_QUANTIZATION_PLAN_H_
