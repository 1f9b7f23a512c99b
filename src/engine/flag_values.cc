#include "engine/flag_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>

#include "shardplan/base/file.h"
#include "shardplan/base/suggest.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

enum class Form {
  kInteger,  // from least to most
  kShare,    // above 0, and at most 1
  kChoice,   // one of `choices`, joined by "|"
  kName,     // the same, in either case, with "-" for "_"
};

constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
constexpr int64_t kLastPort = 65'535;

struct Rule {
  std::string_view engine;
  std::string_view flag;
  Form form;
  std::string_view choices = "";
  int64_t least = 0;
  int64_t most = kAny;
};

// vLLM: vllm/config/{attention,cache,kernel,load,model,mamba,parallel,scheduler}.py,
// vllm/engine/arg_utils.py, vllm/entrypoints/openai/cli_args.py (d29f7f5c). SGLang:
// python/sglang/srt/server_args.py (0bda0b168).
constexpr std::array kRules = {
    Rule{"vllm", "--port", Form::kInteger, "", 0, kLastPort},
    Rule{"vllm", "--master-port", Form::kInteger, "", 0, kLastPort},
    Rule{"vllm", "--data-parallel-rpc-port", Form::kInteger, "", 0, kLastPort},
    Rule{"vllm", "--node-rank", Form::kInteger},
    Rule{"vllm", "--data-parallel-rank", Form::kInteger},
    Rule{"vllm", "--data-parallel-start-rank", Form::kInteger},
    Rule{"vllm", "--api-server-count", Form::kInteger},
    Rule{"vllm", "--seed", Form::kInteger, "", -kAny},
    Rule{"vllm", "--max-logprobs", Form::kInteger, "", -1},
    Rule{"vllm", "--stream-interval", Form::kInteger, "", 1},
    Rule{"vllm", "--ssl-cert-reqs", Form::kInteger},
    Rule{"vllm", "--gpu-memory-utilization", Form::kShare},
    Rule{"vllm", "--scheduling-policy", Form::kChoice, "fcfs|priority"},
    Rule{"vllm", "--runner", Form::kChoice, "auto|generate|pooling|draft"},
    Rule{"vllm", "--dtype", Form::kChoice, "auto|half|float16|bfloat16|float|float32"},
    Rule{"vllm", "--performance-mode", Form::kChoice, "balanced|interactivity|throughput"},
    Rule{"vllm", "--chat-template-content-format", Form::kChoice, "auto|string|openai"},
    Rule{"vllm", "--uvicorn-log-level", Form::kChoice, "critical|error|warning|info|debug|trace"},
    Rule{"vllm", "--mamba-cache-mode", Form::kChoice, "all|align|none"},
    Rule{"vllm", "--mamba-cache-dtype", Form::kChoice, "auto|float32|float16|bfloat16"},
    Rule{"vllm", "--kv-cache-dtype", Form::kChoice,
         "auto|float16|bfloat16|fp8|fp8_e4m3|fp8_e5m2|fp8_inc|fp8_ds_mla|turboquant_k8v4|"
         "turboquant_4bit_nc|turboquant_k3v4_nc|turboquant_3bit_nc|int4_per_token_head|"
         "int8_per_token_head|fp8_per_token_head|nvfp4|nvfp4_4over6"},
    Rule{"vllm", "--load-format", Form::kName,
         "auto|hf|dummy|fastsafetensors|instanttensor|mistral|modelexpress|npcache|pt|"
         "runai_streamer|runai_streamer_sharded|safetensors|sharded_state|tensorizer|bitsandbytes|"
         "gguf"},
    Rule{"vllm", "--attention-backend", Form::kName,
         "amx_mla|cpu_attn|cpu_mla|custom|cutlass_mla|cutlass_msa|flashinfer|flashinfer_mla|"
         "flashinfer_mla_sparse|flashinfer_mla_sparse_dsv4|flashinfer_mla_sparse_sm120|flashmla|"
         "flashmla_sparse|flashmla_sparse_dsv4|flash_attn|flash_attn_diffkv|flash_attn_mla|"
         "flash_attn_mla_sparse|flex_attention|hpc_attn|minimax_m3_sparse|no_attention|"
         "rocm_aiter_fa|rocm_aiter_mla|rocm_aiter_mla_sparse|rocm_aiter_triton_mla|"
         "rocm_aiter_unified_attn|rocm_attn|rocm_flashmla_sparse_dsv4|tokenspeed_mla|torch_sdpa|"
         "triton_attn|triton_attn_diffkv|triton_mla|triton_msa|turboquant|xpu_mla_sparse"},
    Rule{"vllm", "--moe-backend", Form::kName,
         "auto|triton|batched_triton|deep_gemm|deep_gemm_mega_moe|cutlass|flashinfer_trtllm|"
         "flashinfer_cutlass|flashinfer_cutedsl|flashinfer_b12x|marlin|humming|triton_unfused|"
         "aiter|flydsl|hpc|emulation"},
    Rule{"vllm", "--all2all-backend", Form::kChoice,
         "naive|pplx|deepep_high_throughput|deepep_low_latency|deepep_v2|mori_high_throughput|"
         "mori_low_latency|mori|nixl_ep|allgather_reducescatter|flashinfer_all2allv|"
         "flashinfer_nvlink_two_sided|flashinfer_nvlink_one_sided"},
    Rule{"sglang", "--port", Form::kInteger, "", 0, kLastPort},
    Rule{"sglang", "--nccl-port", Form::kInteger, "", 0, kLastPort},
    Rule{"sglang", "--node-rank", Form::kInteger},
    Rule{"sglang", "--random-seed", Form::kInteger, "", -kAny},
    Rule{"sglang", "--stream-interval", Form::kInteger, "", 1},
    Rule{"sglang", "--tokenizer-mode", Form::kChoice, "auto|slow"},
    Rule{"sglang", "--dtype", Form::kChoice, "auto|half|float16|bfloat16|float|float32"},
    Rule{"sglang", "--schedule-policy", Form::kChoice,
         "lpm|random|fcfs|dfs-weight|lof|priority|routing-key"},
    Rule{"sglang", "--sampling-backend", Form::kChoice, "ascend|flashinfer|pytorch"},
    Rule{"sglang", "--grammar-backend", Form::kChoice, "xgrammar|outlines|llguidance|none"},
};

struct OpenRule {
  std::string_view engine;
  std::string_view flag;
  std::string_view choices;
};

// The same sources, and for vLLM those of older releases: model_executor/layers/quantization.
constexpr std::array kOpenRules = {
    OpenRule{
        "vllm", "--quantization",
        "awq|auto_awq|fp8|fbgemm_fp8|fp_quant|modelopt|modelopt_fp4|modelopt_mxfp8|"
        "modelopt_mixed|auto_gptq|gptq|gptq_marlin|awq_marlin|humming|compressed-tensors|"
        "experts_int8|quark|moe_wna16|torchao|inc|mxfp4|gpt_oss_mxfp4|deepseek_v4_fp8|online|"
        "fp8_per_tensor|fp8_per_block|fp8_per_channel|int8_per_channel_weight_only|"
        "nvfp4_per_token|mxfp8|aqlm|auto-round|bitblas|bitsandbytes|deepspeedfp|gguf|"
        "gptq_bitblas|gptq_marlin_24|hqq|ipex|marlin|neuron_quant|petit_nvfp4|ptpc_fp8|qqq|rtn|"
        "tpu_int8"},
    OpenRule{"vllm", "--tokenizer-mode",
             "auto|hf|slow|mistral|deepseek_v32|deepseek_v4|inkling|kimi_k3|cohere|custom"},
    OpenRule{"vllm", "--distributed-executor-backend", "ray|mp|uni|external_launcher"},
    OpenRule{"sglang", "--quantization",
             "awq|fp8|mxfp8|gptq|marlin|gptq_marlin|awq_marlin|bitsandbytes|gguf|modelopt|"
             "modelopt_fp8|modelopt_fp4|nvfp4_online|modelopt_mixed|petit_nvfp4|w8a8_int8|w8a8_fp8|"
             "moe_wna16|w4afp8|mxfp4|auto-round|auto-round-int8|compressed-tensors|modelslim|"
             "mxfp_w4a8|quark|quark_int4fp8_moe|quark_mxfp4|mlx_q4|mlx_q8|unquant|humming|qoq|"
             "fbgemm_fp8|experts_int8|blockwise_int8"},
    OpenRule{"sglang", "--load-format",
             "auto|pt|safetensors|npcache|dummy|sharded_state|presharded|gguf|bitsandbytes|mistral|"
             "layered|flash_rl|remote|remote_instance|fastsafetensors|private|runai_streamer"},
};

// As Python's int() reads it, underscores aside: nothing where it is none, or leaves 64 bits.
bool ReadInteger(std::string_view text, int64_t* value) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto read = std::from_chars(text.data(), text.data() + text.size(), *value);
  return read.ec == std::errc() && read.ptr == text.data() + text.size();
}

std::vector<std::string> Split(std::string_view choices) {
  std::vector<std::string> out;
  while (!choices.empty()) {
    const size_t bar = std::min(choices.find('|'), choices.size());
    out.emplace_back(choices.substr(0, bar));
    choices.remove_prefix(std::min(bar + 1, choices.size()));
  }
  return out;
}

std::string Loose(std::string text) {
  for (char& c : text) {
    if (c == '-') c = '_';
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

std::string Expected(const Rule& rule) {
  switch (rule.form) {
    case Form::kShare:
      return "a number above 0 and at most 1";
    case Form::kInteger:
      if (rule.least == -kAny) return "a whole number";
      if (rule.most == kAny) return fmt::format("a whole number, at least {}", rule.least);
      return fmt::format("a whole number from {} to {}", rule.least, FormatCount(rule.most));
    case Form::kChoice:
    case Form::kName:
      break;
  }
  return JoinWithOr(Split(rule.choices));
}

bool Takes(const Rule& rule, const std::string& value) {
  if (rule.form == Form::kInteger) {
    int64_t number = 0;
    return ReadInteger(value, &number) && number >= rule.least && number <= rule.most;
  }
  if (rule.form == Form::kShare) {
    double number = 0;
    const auto read = std::from_chars(value.data(), value.data() + value.size(), number);
    // What is no number at all, its own option refuses.
    if (read.ec != std::errc() || read.ptr != value.data() + value.size()) return true;
    return number > 0 && number <= 1;
  }
  const std::vector<std::string> choices = Split(rule.choices);
  const std::string text = rule.form == Form::kName ? Loose(value) : value;
  return std::find(choices.begin(), choices.end(), text) != choices.end();
}

}  // namespace

Status CheckFlagValue(std::string_view engine, std::string_view flag, const std::string& value) {
  for (const Rule& rule : kRules) {
    if (rule.engine != engine || rule.flag != flag || Takes(rule, value)) continue;
    const std::vector<std::string> close =
        rule.choices.empty()
            ? std::vector<std::string>()
            : CloseNames(rule.form == Form::kName ? Loose(value) : value, Split(rule.choices));
    return Fail(ErrorCode::kUsage, fmt::format("{} {}", flag, Printable(value)),
                "expected " + Expected(rule),
                close.empty() ? "" : "did you mean " + JoinWithOr(close) + "?");
  }
  return {};
}

std::optional<Finding> CheckOpenValue(std::string_view engine, std::string_view flag,
                                      const std::string& value) {
  for (const OpenRule& rule : kOpenRules) {
    if (rule.engine != engine || rule.flag != flag) continue;
    const std::vector<std::string> choices = Split(rule.choices);
    const bool is_class = value.find('.') != std::string::npos;
    if (is_class || std::find(choices.begin(), choices.end(), value) != choices.end()) break;
    const std::vector<std::string> close = CloseNames(value, choices);
    return Finding{"command.plugin_value", Severity::kWarning,
                   fmt::format("{} {}", flag, Printable(value, 40)),
                   "is none of the built-in choices, and stops a start unless a plugin adds it",
                   close.empty() ? "one of " + JoinWithOr(choices)
                                 : "did you mean " + JoinWithOr(close) + "?"};
  }
  return std::nullopt;
}

std::vector<std::string> OpenFlags(std::string_view engine) {
  std::vector<std::string> out;
  for (const OpenRule& rule : kOpenRules) {
    if (rule.engine == engine) out.emplace_back(rule.flag);
  }
  return out;
}

std::vector<std::string> CheckedFlags(std::string_view engine) {
  std::vector<std::string> out;
  for (const Rule& rule : kRules) {
    if (rule.engine == engine) out.emplace_back(rule.flag);
  }
  return out;
}

}  // namespace shardplan
