#include "engine/quantization_argument.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "shardplan/base/file.h"

namespace shardplan {
namespace {

// Names in a list that is divided by '|'.
bool Contains(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const size_t bar = std::min(list.find('|'), list.size());
    if (list.substr(0, bar) == name) return true;
    list.remove_prefix(std::min(bar + 1, list.size()));
  }
  return false;
}

// A declared method, and the arguments that an engine takes beside it: its own name, and methods
// that read its format. Methods that are not here look at more than names.
struct Accepted {
  std::string_view engine;
  std::string_view declared;
  std::string_view given;
};
constexpr std::array kAccepted = {
    Accepted{"vllm", "fp8", "fp8|deepseek_v4_fp8"},
    Accepted{"vllm", "fbgemm_fp8", "fbgemm_fp8"},
    Accepted{"vllm", "compressed-tensors", "compressed-tensors"},
    Accepted{"vllm", "bitsandbytes", "bitsandbytes"},
    Accepted{"vllm", "awq", "awq|auto_awq|awq_marlin|marlin"},
    Accepted{"vllm", "gptq",
             "gptq|auto_gptq|gptq_marlin|marlin|gptq_marlin_24|gptq_bitblas|bitblas"},
    Accepted{"sglang", "fp8", "fp8|nvfp4_online"},
    Accepted{"sglang", "fbgemm_fp8", "fbgemm_fp8"},
    Accepted{"sglang", "compressed-tensors", "compressed-tensors|w8a8_int8|w8a8_fp8"},
    Accepted{"sglang", "bitsandbytes", "bitsandbytes"},
    Accepted{"sglang", "awq", "awq|awq_marlin|marlin"},
    Accepted{"sglang", "gptq", "gptq|gptq_marlin|marlin"},
};

// Arguments whose meaning is their name: an engine compares it with what the config declares. What
// is not here may take over the checkpoint's own method (moe_wna16, humming, quark_mxfp4, inc).
constexpr std::string_view kPlainNames =
    "awq|auto_awq|awq_marlin|gptq|auto_gptq|gptq_marlin|marlin|fp8|fbgemm_fp8|compressed-tensors|"
    "bitsandbytes|experts_int8|ptpc_fp8|rtn|gguf|aqlm|w8a8_int8|w8a8_fp8|online|fp8_per_tensor|"
    "fp8_per_block|fp8_per_channel|int8_per_channel_weight_only|nvfp4_per_token|nvfp4_online|mxfp8";

// Methods that cannot quantize while loading. Those of the first list look for a file of their own
// (get_config_filenames) and say that there is none; the others are made of the config alone.
constexpr std::string_view kNeedFile =
    "awq|auto_awq|awq_marlin|gptq|auto_gptq|gptq_marlin|marlin|aqlm";
constexpr std::string_view kNeedConfig = "fbgemm_fp8|compressed-tensors";

}  // namespace

std::optional<Finding> CheckQuantization(std::string_view engine, const StoredQuantization& stored,
                                         const EngineSettings& settings) {
  std::string given;
  for (const GivenFlag& flag : settings.command_flags) {
    if (flag.name == "--quantization") given = flag.value;
  }
  if (!Contains(kPlainNames, given)) return std::nullopt;
  const std::string subject = "--quantization " + given;
  const char* const name = engine == "sglang" ? "SGLang" : "vLLM";
  if (stored.declared.empty()) {
    const bool needs_file = Contains(kNeedFile, given);
    if (stored.quantized || (!needs_file && !Contains(kNeedConfig, given))) return std::nullopt;
    return Finding{
        "command.quantization_plain", Severity::kError, subject,
        fmt::format("the checkpoint is not quantized{}",
                    needs_file ? fmt::format(": {} would say: Cannot find the config file for {}",
                                             name, given)
                               : ", and this method is made of what a checkpoint's config says"),
        "leave it out, or serve a checkpoint that is quantized so"};
  }
  const auto row = std::find_if(kAccepted.begin(), kAccepted.end(), [&](const Accepted& a) {
    return a.engine == engine && a.declared == stored.declared;
  });
  if (row == kAccepted.end() || Contains(row->given, given)) return std::nullopt;
  return Finding{"command.quantization_mismatch", Severity::kError, subject,
                 fmt::format("{} would say: Quantization method specified in the model config ({}) "
                             "does not match the quantization method specified in the "
                             "`quantization` argument ({}).",
                             name, Printable(stored.declared, 40), given),
                 "leave it out: the engine finds the checkpoint's own method"};
}

}  // namespace shardplan
