#include "cli/deployment_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "cli/calibration_file.h"
#include "engine/vllm/compilation_config.h"
#include "engine/vllm/eplb.h"
#include "shardplan/base/file.h"
#include "shardplan/base/suggest.h"
#include "shardplan/base/units.h"

namespace shardplan::cli {
namespace {

// Readers for the kinds of value that engines and we share.
OptionSet::Reader ReadBytes(std::function<void(Bytes)> set) {
  return [set = std::move(set)](const std::string& text) -> Status {
    SHARDPLAN_ASSIGN_OR_RETURN(const Bytes bytes, ParseBytes(text));
    set(bytes);
    return {};
  };
}

OptionSet::Reader ReadTokens(std::function<void(int64_t)> set) {
  return [set = std::move(set)](const std::string& text) -> Status {
    SHARDPLAN_ASSIGN_OR_RETURN(const int64_t tokens, ParseTokenCount(text));
    set(tokens);
    return {};
  };
}

OptionSet::Reader ReadDecimal(std::function<void(double)> set) {
  return [set = std::move(set)](const std::string& text) -> Status {
    SHARDPLAN_ASSIGN_OR_RETURN(const double value, ParseDecimal(text));
    set(value);
    return {};
  };
}

// The engine counts these bytes with the suffixes that it uses for tokens.
Status ReadCacheBytes(const std::string& text, EngineSettings* settings) {
  const Result<int64_t> bytes = ParseTokenCount(text);
  if (!bytes || *bytes < 1) {
    return Fail(ErrorCode::kUsage, Printable(text), "expected a number of bytes",
                "vLLM's suffixes k, m, g are powers of 1,000 and K, M, G powers of 1,024: 20G");
  }
  settings->kv_cache_memory_bytes = Bytes(*bytes);
  return {};
}

Status ReadWindow(const std::string& text, EngineSettings* settings) {
  settings->max_model_len_auto = text == "auto" || text == "-1";
  settings->max_model_len.reset();
  if (settings->max_model_len_auto) return {};
  SHARDPLAN_ASSIGN_OR_RETURN(settings->max_model_len, ParseTokenCount(text));
  return {};
}

// The engine takes names of backends in either case; some with dashes.
std::string BackendName(std::string text, bool upper) {
  for (char& c : text) {
    if (c == '-') c = '_';
    if (upper && c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    if (!upper && c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

Status ReadChoice(const std::string& text, const std::vector<std::string>& choices,
                  std::optional<std::string>* out) {
  if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
    return Fail(ErrorCode::kUsage, Printable(text), "expected " + JoinWithOr(choices));
  }
  *out = text;
  return {};
}

Status ReadNames(const std::string& text, std::vector<std::string>* names) {
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    if (end == begin) {
      return Fail(ErrorCode::kUsage, Printable(text), "expected names separated by commas");
    }
    names->push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return {};
}

Status ReadSizes(const std::string& text, EngineSettings* settings) {
  if (!settings->cudagraph_capture_sizes) settings->cudagraph_capture_sizes.emplace();
  std::vector<std::string> words;
  SHARDPLAN_RETURN_IF_ERROR(ReadNames(text, &words));
  for (const std::string& word : words) {
    SHARDPLAN_ASSIGN_OR_RETURN(const int64_t size, ParseCount(word, 1));
    settings->cudagraph_capture_sizes->push_back(size);
  }
  return {};
}

// "--name" and "--no-name", which cannot be given together.
void AddPair(OptionSet* o, const std::string& name, const std::string& help,
             const std::string& no_help, const std::function<void(bool)>& set) {
  o->Flag("--" + name, help, [set] { set(true); });
  o->Flag("--no-" + name, no_help, [set] { set(false); });
  o->Exclude("--" + name, "--no-" + name);
}

void AddWhere(OptionSet* o, Deployment* d) {
  o->Group("Where");
  o->Text("--gpu", "ID", "Card, an id of `shardplan catalog gpus`; required",
          [d](std::string text) { d->gpu = std::move(text); });
  o->Count("--nodes", "Servers (default: as many as the layout needs)", 1,
           [d](int64_t n) { d->nodes = n; });
  o->Count("--gpus-per-node", "Cards in a server (default: 8)", 1,
           [d](int64_t n) { d->gpus_per_node = n; });
  o->Value("--gpu-memory-in-use", "SIZE", "Taken by others on every card, such as 2GiB",
           ReadBytes([d](Bytes bytes) { d->gpu_memory_in_use = bytes; }));
  o->Value("--gpu-memory-total", "SIZE", "What CUDA sees of a card, where yours differs",
           ReadBytes([d](Bytes bytes) { d->gpu_memory_total = bytes; }));
}

void AddLayout(OptionSet* o, Deployment* d) {
  o->Group("Engine and layout");
  o->Value("--engine", "vllm[@VERSION]", "Engine (default: vllm at the newest version known)",
           [d](const std::string& text) { return ParseEngine(text, d); });
  o->Count("--tp,--tensor-parallel-size", "Tensor parallel size (default: 1)", 1,
           [d](int64_t n) { d->sizes.tp = n; });
  o->Count("--pp,--pipeline-parallel-size", "Pipeline stages (default: 1)", 1,
           [d](int64_t n) { d->sizes.pp = n; });
  o->Value("--pp-partition", "N,N,…", "Layers of each stage (default: the engine's own split)",
           [d](const std::string& text) -> Status {
             SHARDPLAN_ASSIGN_OR_RETURN(d->partition, ParsePartition(text));
             return {};
           });
  o->Count("--dp,--data-parallel-size", "Data parallel size (default: 1)", 1,
           [d](int64_t n) { d->sizes.dp = n; });
  o->Count("--dcp,--decode-context-parallel-size", "Decode context parallel size (default: 1)", 1,
           [d](int64_t n) { d->sizes.dcp = n; });
  o->Flag("--enable-expert-parallel", "Whole experts on each rank instead of slices",
          [d] { d->sizes.expert_parallel = true; });
  o->Flag("--enable-eplb", "Replicas of busy experts, moved as the load shifts",
          [d] { d->settings.enable_eplb = true; });
  o->Count("--redundant-experts", "How many, over all ranks (default: 0)", 0,
           [d](int64_t n) { d->settings.redundant_experts = n; });
  o->Value("--eplb-config", "JSON", "vLLM's: num_redundant_experts, window_size",
           [d](const std::string& text) { return vllm::ReadEplbConfig(text, &d->settings); });
}

void AddScheduling(OptionSet* o, EngineSettings* s) {
  o->Group("Engine settings (left out, they take the engine's defaults)");
  o->Value("--max-model-len", "TOKENS", "Window, input and output: 524288, 512K or 512k; auto fits",
           [s](const std::string& text) { return ReadWindow(text, s); });
  o->Count("--max-num-seqs", "Requests in a batch", 1, [s](int64_t n) { s->max_num_seqs = n; });
  o->Value("--max-num-batched-tokens", "TOKENS", "Tokens in a batch",
           ReadTokens([s](int64_t n) { s->max_num_batched_tokens = n; }));
  o->Value("--gpu-memory-utilization", "FRACTION", "Share of a card that the engine may use",
           ReadDecimal([s](double value) { s->gpu_memory_utilization = value; }));
  o->Value("--kv-cache-memory-bytes", "BYTES", "KV cache a card, whatever is left: 20G",
           [s](const std::string& text) { return ReadCacheBytes(text, s); });
  o->Text("--kv-cache-dtype", "DTYPE", "auto, bfloat16, fp8 …",
          [s](std::string text) { s->kv_cache_dtype = std::move(text); });
  o->Text("--dtype", "DTYPE", "auto, bfloat16, float16 or float32",
          [s](std::string text) { s->dtype = std::move(text); });
  o->Count("--block-size", "Tokens in a KV block", 1, [s](int64_t n) { s->block_size = n; });
  o->Flag("--enforce-eager", "No CUDA graphs", [s] { s->enforce_eager = true; });
  AddPair(o, "enable-prefix-caching", "Share the cache of equal beginnings", "Don't",
          [s](bool on) { s->enable_prefix_caching = on; });
  o->Text("--mamba-cache-mode", "MODE", "none, align or all: state layers' caches",
          [s](std::string text) { s->mamba_cache_mode = std::move(text); });
  o->Text("--mamba-cache-dtype", "DTYPE", "Of convolution states: auto, float32, float16, bfloat16",
          [s](std::string text) { s->mamba_cache_dtype = std::move(text); });
  o->Text("--mamba-ssm-cache-dtype", "DTYPE", "Of recurrent states: as above",
          [s](std::string text) { s->mamba_ssm_cache_dtype = std::move(text); });
  o->Count("--num-gpu-blocks-override", "Blocks of the KV cache, whatever memory there is", 1,
           [s](int64_t n) { s->num_gpu_blocks_override = n; });
  AddPair(o, "disable-hybrid-kv-cache-manager", "Cache windows as full attention", "Don't",
          [s](bool on) { s->disable_hybrid_kv_cache_manager = on; });
  AddPair(o, "async-scheduling", "Schedule a batch while another runs", "Don't",
          [s](bool on) { s->async_scheduling = on; });
}

void AddGraphs(OptionSet* o, EngineSettings* s) {
  AddPair(o, "enable-chunked-prefill", "Long prompts in several batches",
          "A batch holds a whole window", [s](bool on) { s->enable_chunked_prefill = on; });
  o->Text("--performance-mode", "MODE", "balanced, interactivity or throughput",
          [s](std::string text) { s->performance_mode = std::move(text); });
  o->Repeated("--cudagraph-capture-sizes", "N,N,…", "Batches that CUDA graphs are captured for",
              [s, first = true](const std::string& text) mutable {
                if (std::exchange(first, false)) s->cudagraph_capture_sizes.reset();
                return ReadSizes(text, s);
              });
  o->Count("--max-cudagraph-capture-size", "The largest of them", 1,
           [s](int64_t n) { s->max_cudagraph_capture_size = n; });
  o->Value("--compilation-config", "JSON", "vLLM's: mode, cudagraph_mode, capture sizes",
           [s](const std::string& text) { return vllm::ReadCompilationConfig(text, s); });
  o->Count("--optimization-level", "0 without compilation and graphs, to 3 (default: 2)", 0,
           [s](int64_t n) { s->optimization_level = n; });
}

void AddBackends(OptionSet* o, Deployment* d) {
  EngineSettings* const s = &d->settings;
  o->Text("--offload-backend", "NAME", "uva or prefetch",
          [s](std::string text) { s->offload_backend = std::move(text); });
  o->Value("--cpu-offload-gb", "GIB", "Weights moved to host memory, GiB a card",
           ReadDecimal([s](double value) { s->cpu_offload_gb = value; }));
  // The first of them replaces what another source set.
  o->Repeated("--cpu-offload-params", "NAME,…", "Which parameters; repeated or with commas",
              [s, first = true](const std::string& text) mutable {
                if (std::exchange(first, false)) s->cpu_offload_params.clear();
                return ReadNames(text, &s->cpu_offload_params);
              });
  o->Count("--offload-group-size", "Prefetch offload: of every so many layers", 0,
           [s](int64_t n) { s->offload_group_size = n; });
  o->Count("--offload-num-in-group", "the last so many move to host memory (default: 1)", 0,
           [s](int64_t n) { s->offload_num_in_group = n; });
  o->Count("--offload-prefetch-step", "and so many are copied ahead (default: 1)", 0,
           [s](int64_t n) { s->offload_prefetch_step = n; });
  o->Repeated("--offload-params", "NAME,…", "Which of their parameters (default: all)",
              [s, first = true](const std::string& text) mutable {
                if (std::exchange(first, false)) s->offload_params.clear();
                return ReadNames(text, &s->offload_params);
              });
  o->Flag("--language-model-only", "Leave the vision tower out",
          [s] { s->language_model_only = true; });
  o->Text("--mm-encoder-tp-mode", "MODE", "weights or data",
          [s](std::string text) { s->mm_encoder_tp_mode = std::move(text); });
  o->Text("--moe-backend", "NAME", "auto, marlin, triton, cutlass, deep_gemm …",
          [s](std::string text) { s->moe_backend = BackendName(std::move(text), false); });
  o->Text("--all2all-backend", "NAME", "allgather_reducescatter, deepep_low_latency …",
          [s](std::string text) { s->all2all_backend = std::move(text); });
  o->Text("--attention-backend", "NAME", "FLASH_ATTN, FLASH_ATTN_MLA, FLASHMLA …",
          [s](std::string text) { s->attention_backend = BackendName(std::move(text), true); });
  AddPair(o, "disable-custom-all-reduce", "All-reduce by NCCL alone", "Don't",
          [s](bool on) { s->disable_custom_all_reduce = on; });
  o->Value("--logprobs-mode", "MODE", "raw_logprobs, raw_logits, processed_logprobs …",
           [s](const std::string& text) {
             return ReadChoice(
                 text, {"processed_logits", "processed_logprobs", "raw_logits", "raw_logprobs"},
                 &s->logprobs_mode);
           });
  o->Text("--load-format", "NAME", "auto, safetensors, fastsafetensors …",
          [s](std::string text) { s->load_format = std::move(text); });
  o->Flag("--numa-bind", "Bind each rank to its card's NUMA node", [s] { s->numa_bind = true; });
  o->Repeated("--env", "NAME=VALUE", "An environment variable of the engine; repeated for more",
              [d](const std::string& text) { return ParseVariable(text, d); });
}

void AddAsked(OptionSet* o, DeploymentOptions* out) {
  Deployment* const d = &out->deployment;
  o->Group("What is asked");
  o->Value("--output-tokens", "TOKENS", "Part of the window that is output",
           ReadTokens([d](int64_t n) { d->output_tokens = n; }));
  o->Count("--require-concurrency", "Full-window requests resident at once (default: 1)", 1,
           [d](int64_t n) { d->require_concurrency = n; });
  o->Value("--typical-tokens", "TOKENS", "Tell the concurrency at this length as well",
           ReadTokens([d](int64_t n) { d->typical_tokens = n; }));
  o->Repeated("--precision", "ROLE=FORMAT,…",
              "As if stored so: experts=int4:128,attention=fp8:128x128,embeddings=bf16",
              [out](const std::string& text) { return ParsePrecision(text, &out->precision); });
  AddAssumeOption(o, &out->assumptions);
  o->Value("--calibration", "FILE", "Figures of real runs (YAML): they replace assumed ones",
           [d](const std::string& text) -> Status {
             SHARDPLAN_ASSIGN_OR_RETURN(d->calibration, ReadCalibration(text));
             return {};
           });
}

}  // namespace

void AddDeploymentOptions(OptionSet* options, DeploymentOptions* out) {
  options->Positional("MODEL",
                      "A model directory, a model.safetensors.index.json, a .safetensors file or a "
                      "config.json",
                      &out->model);
  AddWhere(options, &out->deployment);
  AddLayout(options, &out->deployment);
  AddScheduling(options, &out->deployment.settings);
  AddGraphs(options, &out->deployment.settings);
  AddBackends(options, &out->deployment);
  AddAsked(options, out);
}

void AddAssumeOption(OptionSet* options, Assumptions* out) {
  options->Repeated("--assume", "KEY=VALUE",
                    "What the config doesn't tell: mtp=false, mtp_embed=false, inv_freq=56",
                    [out](const std::string& text) { return ParseAssumption(text, out); });
}

Status ParseVariable(const std::string& text, Deployment* out) {
  const size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  const auto is_part = [](char c) {
    return c == '_' || std::isalnum(static_cast<unsigned char>(c));
  };
  const bool is_name = !name.empty() && !(name[0] >= '0' && name[0] <= '9') &&
                       std::all_of(name.begin(), name.end(), is_part);
  if (equals == std::string::npos || !is_name) {
    return Fail(ErrorCode::kUsage, Printable(text), "expected NAME=VALUE",
                "such as VLLM_USE_V2_MODEL_RUNNER=0");
  }
  const std::string value = text.substr(equals + 1);
  EngineSettings& s = out->settings;
  // bool(int(value)) in vllm/envs.py (d29f7f5c).
  const auto read_switch = [&](std::optional<bool>* setting) -> Status {
    const Result<int64_t> number = ParseCount(value, 0);
    if (!number) return Fail(ErrorCode::kUsage, Printable(text), "expected 0 or 1");
    *setting = *number != 0;
    return {};
  };
  if (name == "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS") return read_switch(&s.estimate_graphs);
  if (name == "VLLM_USE_V2_MODEL_RUNNER") return read_switch(&s.v2_model_runner);
  if (name == "VLLM_PP_LAYER_PARTITION") {
    SHARDPLAN_ASSIGN_OR_RETURN(out->partition, ParsePartition(value));
    return {};
  }
  std::erase_if(s.env, [&](const OptionValue& known) { return known.first == name; });
  s.env.emplace_back(name, value);
  return {};
}

Status ParseEngine(const std::string& text, Deployment* out) {
  const size_t at = text.find('@');
  const std::string name = text.substr(0, at);
  if (name == "sglang") {
    return Fail(ErrorCode::kUnsupported, Printable(text), "not modelled by this version",
                "plan the deployment with --engine vllm");
  }
  if (name != "vllm") {
    const std::vector<std::string> close = CloseNames(name, {"vllm"});
    return Fail(ErrorCode::kUsage, Printable(text), "expected vllm or vllm@VERSION",
                close.empty() ? "" : "did you mean " + JoinWithOr(close) + "?");
  }
  if (at != std::string::npos && at + 1 == text.size()) {
    return Fail(ErrorCode::kUsage, Printable(text), "expected a version after the @",
                "`shardplan catalog engines` lists those with a profile");
  }
  out->engine = name;
  out->engine_version = at == std::string::npos ? "" : text.substr(at + 1);
  return {};
}

}  // namespace shardplan::cli
