// Whether --quantization suits what a checkpoint's config declares.
#ifndef SHARDPLAN_ENGINE_QUANTIZATION_ARGUMENT_H_
#define SHARDPLAN_ENGINE_QUANTIZATION_ARGUMENT_H_

#include <optional>
#include <string>
#include <string_view>

#include "shardplan/base/finding.h"
#include "shardplan/engine/settings.h"

namespace shardplan {

// What a checkpoint says of its quantization.
struct StoredQuantization {
  std::string declared;    // quant_method of its config: "fp8"; empty where it names none
  bool quantized = false;  // whether its weights are, whatever the config says
};

// What the engine ("vllm", "sglang") would say to the last --quantization of a command, as an
// error:
//
//   command.quantization_mismatch  the config declares another method, which no kernel of the
//                                  named one takes over
//   command.quantization_plain     the weights are not quantized, and the method reads a config
//                                  that such a checkpoint has not
//
// Nothing where the engine takes it, and where only the engine can tell: methods that look at more
// than the name (ModelOpt's, MXFP4, Quark, AutoRound) and names that nobody here knows.
//
// Sources: vllm/config/model.py _verify_quantization and the override_quantization_method of
// model_executor/layers/quantization (0052a5b8, d29f7f5c), weight_utils.py get_quant_config;
// sglang/srt/configs/model_config.py _verify_quantization (001adf56).
std::optional<Finding> CheckQuantization(std::string_view engine, const StoredQuantization& stored,
                                         const EngineSettings& settings);

}  // namespace shardplan

#endif  // SHARDPLAN_ENGINE_QUANTIZATION_ARGUMENT_H_
