#include "model/quantization_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/families/decoder_parts.h"
#include "shardplan/base/file.h"

namespace shardplan {
namespace {

constexpr int64_t kMaxGroup = 1 << 20;
constexpr size_t kMaxPatterns = 1'000'000;

tl::unexpected<Error> Unsupported(const std::string& subject, std::string what) {
  return Fail(ErrorCode::kUnsupported, subject, std::move(what),
              "plan the unquantized checkpoint, or one in FP8, NVFP4, MXFP4, AWQ, GPTQ or "
              "compressed-tensors");
}

// -1 ("the whole input") becomes 0.
int64_t ReadGroup(ConfigReader& q, int64_t absent) {
  const int64_t group = q.IntOr("group_size", -1, kMaxGroup, absent);
  return group < 0 ? 0 : group;
}

Status AddIgnored(ConfigReader& q, std::string_view key, const std::string& subject,
                  QuantPlan* plan) {
  for (const std::string& name : q.StringListOr(key, {})) {
    SHARDPLAN_RETURN_IF_ERROR(plan->ignore.Add(name, subject + ": " + std::string(key)));
  }
  return {};
}

void ForEveryLinear(QuantFormat format, QuantPlan* plan) {
  QuantRule rule;
  rule.every_linear = true;
  rule.format = format;
  plan->rules.push_back(std::move(rule));
}

// --- fp8, awq, gptq, bitsandbytes: one format for all linears but a list
// --------------------------

Status ReadFp8(ConfigReader& q, const std::string& subject, QuantPlan* plan) {
  QuantFormat format;
  if (q.Has("weight_block_size")) {
    const std::vector<int64_t> block = q.IntList("weight_block_size", 1, 1 << 16);
    if (q.ok() && block.size() != 2) {
      q.Contradiction("weight_block_size", "expected two numbers");
    }
    if (!q.ok()) return {};
    format = {QuantScheme::kFp8Block, block[0], block[1]};
  } else {
    format.scheme = QuantScheme::kFp8Tensor;
    format.input_scale = q.StringOr("activation_scheme", "dynamic") == "static";
  }
  ForEveryLinear(format, plan);
  plan->gqa_scales = true;
  SHARDPLAN_RETURN_IF_ERROR(AddIgnored(q, "modules_to_not_convert", subject, plan));
  return AddIgnored(q, "ignored_layers", subject, plan);
}

// Llama-3.1-405B-FP8: dynamic inputs below a bound that the config holds, one scale an output.
Status ReadFbgemm(ConfigReader& q, const std::string& subject, QuantPlan* plan) {
  QuantFormat format;
  format.scheme = QuantScheme::kFp8Channel;
  ForEveryLinear(format, plan);
  return AddIgnored(q, "modules_to_not_convert", subject, plan);
}

Status ReadAwqOrGptq(ConfigReader& q, const std::string& subject, bool awq, QuantPlan* plan) {
  QuantFormat format;
  format.scheme = awq ? QuantScheme::kAwq : QuantScheme::kGptq;
  format.bits = q.Int("bits", 2, 8);
  format.block_in = ReadGroup(q, 128);
  format.scale_dtype = DType::kF16;
  format.zero_points = awq ? q.BoolOr("zero_point", true) : true;
  format.act_order = !awq && q.BoolOr("desc_act", false);
  if (q.ok() && format.bits != 4 && format.bits != 8) {
    return Unsupported(
        subject, fmt::format("{} in {} bits is not known", awq ? "AWQ" : "GPTQ", format.bits));
  }
  if (q.BoolOr("lm_head", false)) {
    return Unsupported(subject, "a quantized lm_head is not known");
  }
  if (q.Has("dynamic") && !q.json().at("dynamic").empty()) {
    return Unsupported(subject, "GPTQ with per-module overrides (dynamic) is not known");
  }
  ForEveryLinear(format, plan);
  return AddIgnored(q, "modules_to_not_convert", subject, plan);
}

Status ReadBitsAndBytes(ConfigReader& q, const std::string& subject, QuantPlan* plan) {
  if (!q.BoolOr("load_in_4bit", false)) {
    return Unsupported(subject, "bitsandbytes in 8 bits is not known");
  }
  ForEveryLinear({QuantScheme::kBnb4}, plan);
  return AddIgnored(q, "llm_int8_skip_modules", subject, plan);
}

// --- ModelOpt: an algorithm for everything, or one per module
// -------------------------------------

Result<QuantFormat> ModelOptFormat(const std::string& algorithm, int64_t group,
                                   const std::string& subject) {
  QuantFormat f;
  f.block_in = group > 0 ? group : 16;
  if (algorithm == "FP8") {
    f.scheme = QuantScheme::kFp8Tensor;
    f.block_in = 1;
    f.input_scale = true;
  } else if (algorithm == "NVFP4" || algorithm == "W4A16_NVFP4") {
    f.scheme = QuantScheme::kNvfp4;
    f.input_scale = algorithm == "NVFP4";
  } else if (algorithm == "MXFP8") {
    f.scheme = QuantScheme::kMxfp8;
    f.block_in = 32;
  } else {
    return Unsupported(subject,
                       fmt::format("quantization '{}' is not known", Printable(algorithm, 40)));
  }
  return f;
}

// quantized_layers: "model.layers.0.mlp.experts.3.up_proj" → an algorithm.
Status ReadQuantizedLayers(ConfigReader& q, const std::string& subject, QuantPlan* plan) {
  ConfigReader layers = q.ObjectOr("quantized_layers");
  if (!layers.json().is_object()) return {};
  if (layers.json().size() > kMaxPatterns) {
    return Fail(ErrorCode::kInvalidInput, subject, "quantized_layers lists more than a million");
  }
  for (const auto& [name, value] : layers.json().items()) {
    ConfigReader one(value, subject, "quantized_layers." + Printable(name, 80) + ".");
    const std::string algorithm = one.StringOr("quant_algo", "");
    const int64_t group = ReadGroup(one, 16);
    if (!one.ok()) return tl::unexpected(one.error());
    SHARDPLAN_ASSIGN_OR_RETURN(plan->by_module[name], ModelOptFormat(algorithm, group, subject));
  }
  q.Adopt(layers);
  return {};
}

bool IsFp8Cache(ConfigReader& q) {
  if (q.StringOr("kv_cache_quant_algo", "") == "FP8") return true;
  if (!q.Has("kv_cache_scheme")) return false;
  const nlohmann::json& scheme = q.json().at("kv_cache_scheme");
  if (scheme.is_string()) return scheme.get<std::string>() == "FP8";
  ConfigReader fields = q.ObjectOr("kv_cache_scheme");
  const bool fp8 =
      fields.IntOr("num_bits", 1, 64, 0) == 8 && fields.StringOr("type", "") == "float";
  q.Adopt(fields);
  return fp8;
}

Status ReadModelOpt(ConfigReader& q, const std::string& subject, QuantPlan* plan) {
  const std::string algorithm = q.StringOr("quant_algo", "");
  plan->fp8_cache = IsFp8Cache(q);
  plan->gqa_scales = plan->mla_scales = true;
  if (algorithm == "MIXED_PRECISION") {
    SHARDPLAN_RETURN_IF_ERROR(ReadQuantizedLayers(q, subject, plan));
  } else {
    int64_t group = ReadGroup(q, 0);
    if (group == 0) {  // the config's own form keeps it with the weights
      ConfigReader weights = q.ObjectOr("config_groups").ObjectOr("group_0").ObjectOr("weights");
      group = ReadGroup(weights, 16);
      q.Adopt(weights);
    }
    if (!q.ok()) return {};
    SHARDPLAN_ASSIGN_OR_RETURN(const QuantFormat format, ModelOptFormat(algorithm, group, subject));
    ForEveryLinear(format, plan);
  }
  SHARDPLAN_RETURN_IF_ERROR(AddIgnored(q, "exclude_modules", subject, plan));
  return AddIgnored(q, "ignore", subject, plan);
}

// --- compressed-tensors: groups of targets
// --------------------------------------------------------

Result<QuantFormat> CompressedFormat(ConfigReader& weights, ConfigReader& activations,
                                     const std::string& format_name, DType dtype,
                                     const std::string& subject) {
  QuantFormat f;
  f.compressed_names = true;
  f.bits = weights.Int("num_bits", 1, 16);
  f.scale_dtype = dtype;
  const std::string type = weights.StringOr("type", "int");
  const std::string strategy = weights.StringOr("strategy", "tensor");
  const int64_t group = ReadGroup(weights, 0);
  f.zero_points = !weights.BoolOr("symmetric", true);
  // "actorder": false, null, "weight" (reordered before storing) or "group" (an index is stored).
  if (weights.Has("actorder") && weights.json().at("actorder").is_string()) {
    f.act_order = weights.json().at("actorder").get<std::string>() == "group";
  }
  const bool activations_static =
      activations.Has("num_bits") &&
      !activations.json().value("dynamic", nlohmann::json(false)).is_string() &&
      !activations.BoolOr("dynamic", false);
  if (type == "float" && f.bits == 8) {
    f.bits = 4;
    if (strategy == "block" && weights.Has("block_structure")) {
      const std::vector<int64_t> block = weights.IntList("block_structure", 1, 1 << 16);
      if (block.size() == 2) {
        f.scheme = QuantScheme::kFp8Block;
        f.block_out = block[0];
        f.block_in = block[1];
        return f;
      }
    }
    if (group == 32) {
      f.scheme = QuantScheme::kMxfp8;
      f.block_in = 32;
      return f;
    }
    if (strategy == "channel" || strategy == "tensor") {
      f.scheme = strategy == "channel" ? QuantScheme::kFp8Channel : QuantScheme::kFp8Tensor;
      f.input_scale = activations_static;
      return f;
    }
  } else if (type == "float" && f.bits == 4 && (group == 16 || group == 32)) {
    f.scheme = group == 16 ? QuantScheme::kNvfp4 : QuantScheme::kMxfp4;
    f.block_in = group;
    f.input_scale = group == 16 && activations.Has("num_bits");
    return f;
  } else if (type == "int" && (f.bits == 4 || f.bits == 8)) {
    const bool packed = format_name == "pack-quantized";
    if (packed) {
      f.scheme = QuantScheme::kIntPacked;
      f.block_in = group;
      return f;
    }
    if (f.bits == 8 && strategy == "channel") {
      f.scheme = QuantScheme::kInt8;
      f.input_scale = activations_static;
      return f;
    }
  }
  return Unsupported(subject,
                     fmt::format("compressed-tensors weights of type {} in {} bits, "
                                 "strategy {}, group {} are not known",
                                 Printable(type, 20), f.bits, Printable(strategy, 20), group));
}

Status ReadCompressed(ConfigReader& q, DType dtype, const std::string& subject, QuantPlan* plan) {
  const std::string format_name = q.StringOr("format", "");
  plan->fp8_cache = IsFp8Cache(q);
  ConfigReader groups = q.Object("config_groups");
  if (!groups.ok()) return tl::unexpected(groups.error());
  for (const auto& [name, value] : groups.json().items()) {
    ConfigReader group(value, subject, "config_groups." + Printable(name, 40) + ".");
    ConfigReader weights = group.Object("weights");
    ConfigReader activations = group.ObjectOr("input_activations");
    if (!weights.ok()) return tl::unexpected(weights.error());
    QuantRule rule;
    SHARDPLAN_ASSIGN_OR_RETURN(
        rule.format, CompressedFormat(weights, activations, group.StringOr("format", format_name),
                                      dtype, subject));
    for (const std::string& target : group.StringListOr("targets", {})) {
      if (target == "Linear") {
        rule.every_linear = true;
      } else {
        SHARDPLAN_RETURN_IF_ERROR(rule.targets.Add(target, subject + ": targets"));
      }
    }
    for (const ConfigReader* child : {&weights, &activations}) group.Adopt(*child);
    if (!group.ok()) return tl::unexpected(group.error());
    plan->rules.push_back(std::move(rule));
  }
  return AddIgnored(q, "ignore", subject, plan);
}

// gpt-oss: the stacked experts, whatever else the config lists.
Status ReadMxfp4(QuantPlan* plan, const std::string& subject) {
  QuantRule rule;
  rule.format = {QuantScheme::kMxfp4, 1, 32};
  plan->rules.push_back(std::move(rule));
  return plan->rules.back().targets.Add("mlp.experts", subject);
}

Status ReadMethod(ConfigReader& q, const std::string& method, DType dtype,
                  const std::string& subject, QuantPlan* plan) {
  if (q.Has("quant_algo") && (method.empty() || method.starts_with("modelopt"))) {
    return ReadModelOpt(q, subject, plan);
  }
  if (method == "mxfp4") return ReadMxfp4(plan, subject);
  if (method == "fp8") return ReadFp8(q, subject, plan);
  if (method == "fbgemm_fp8") return ReadFbgemm(q, subject, plan);
  if (method == "awq" || method == "gptq") {
    return ReadAwqOrGptq(q, subject, method == "awq", plan);
  }
  if (method == "compressed-tensors") return ReadCompressed(q, dtype, subject, plan);
  if (method == "bitsandbytes") return ReadBitsAndBytes(q, subject, plan);
  return Unsupported(
      subject, method.empty()
                   ? "a quantization_config without a quant_method is not known"
                   : fmt::format("quantization method '{}' is not known", Printable(method, 40)));
}

}  // namespace

QuantFormat QuantPlan::FormatFor(std::string_view module) const {
  if (!by_module.empty()) {
    // The module itself, or what stands for everything below an ancestor.
    for (std::string_view name = module; !name.empty();) {
      const auto it = by_module.find(std::string(name));
      if (it != by_module.end()) return it->second;
      const size_t dot = name.rfind('.');
      name = dot == std::string_view::npos ? std::string_view() : name.substr(0, dot);
    }
  }
  if (rules.empty() || ignore.Match(module)) return {};
  // A name that is meant goes before the class of all linears, whatever the order of the groups
  // (compressed_tensors/utils/match.py, which vLLM follows).
  for (const QuantRule& rule : rules) {
    if (rule.targets.Match(module)) return rule.format;
  }
  for (const QuantRule& rule : rules) {
    if (rule.every_linear) return rule.format;
  }
  return {};
}

Result<QuantPlan> ReadQuantizationPlan(ConfigReader& config, std::string_view sidecar,
                                       const std::string& sidecar_path) {
  QuantPlan plan;
  const DType dtype = families::ModelDType(config);
  const auto read = [&](ConfigReader& q, const std::string& subject) -> Status {
    const std::string method = q.StringOr("quant_method", "");
    SHARDPLAN_RETURN_IF_ERROR(ReadMethod(q, method, dtype, subject, &plan));
    if (!q.ok()) return tl::unexpected(q.error());
    plan.method = method.empty() ? "modelopt" : method;
    return {};
  };
  ConfigReader text = config.ObjectOr("text_config");
  for (ConfigReader* holder : {&config, &text}) {
    if (!holder->Has("quantization_config")) continue;
    ConfigReader q = holder->Object("quantization_config");
    if (!q.ok()) return tl::unexpected(q.error());
    if (q.json().empty()) continue;
    SHARDPLAN_RETURN_IF_ERROR(read(q, config.subject()));
    return plan;
  }
  if (sidecar.empty()) return plan;
  SHARDPLAN_ASSIGN_OR_RETURN(const nlohmann::json json, ParseConfigObject(sidecar, sidecar_path));
  ConfigReader root(json, sidecar_path);
  ConfigReader q = root.ObjectOr("quantization");
  if (!q.ok()) return tl::unexpected(q.error());
  if (q.json().empty() || q.StringOr("quant_algo", "").empty()) return plan;
  SHARDPLAN_RETURN_IF_ERROR(read(q, sidecar_path));
  return plan;
}

}  // namespace shardplan
