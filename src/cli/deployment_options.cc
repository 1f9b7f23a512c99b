#include "cli/deployment_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>
#include <vector>

#include "cli/calibration_file.h"
#include "cli/link_options.h"
#include "cli/sglang_options.h"
#include "engine/vllm/compilation_config.h"
#include "engine/vllm/eplb.h"
#include "engine/vllm/kv_transfer.h"
#include "engine/vllm/speculative_config.h"
#include "shardplan/base/file.h"
#include "shardplan/base/suggest.h"
#include "shardplan/base/units.h"
#include "shardplan/hardware/cluster_file.h"

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
  SHARDPLAN_ASSIGN_OR_RETURN(const int64_t tokens, ParseTokenCount(text));
  if (tokens < 1) return Fail(ErrorCode::kUsage, Printable(text), "expected at least 1 token");
  settings->max_model_len = tokens;
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

std::string LowerCase(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

Status ReadStateDType(const std::string& text, Deployment* d) {
  static const std::map<std::string, DType> names = {
      {"float32", DType::kF32}, {"float16", DType::kF16}, {"bfloat16", DType::kBF16}};
  const auto it = names.find(text);
  if (it == names.end() && text != "auto") {
    return Fail(ErrorCode::kUsage, Printable(text), "expected auto, float32, float16 or bfloat16");
  }
  d->settings.mamba_ssm_cache_dtype = text;
  d->sglang.mamba_ssm_dtype = it == names.end() ? std::nullopt : std::optional(it->second);
  return {};
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

Status ReadClusterFile(const std::string& path, Deployment* d) {
  Result<ClusterSpec> cluster = ReadCluster(path);
  if (!cluster) {
    // The subject becomes the option: file and line stay in the message.
    Error error = std::move(cluster).error();
    error.message = fmt::format("{}: {}", error.subject, error.message);
    return tl::unexpected<Error>(std::move(error));
  }
  d->cluster = std::make_shared<const ClusterSpec>(*std::move(cluster));
  return {};
}

void AddWhere(OptionSet* o, Deployment* d) {
  o->Group("Where");
  o->Text("--gpu", "ID", "Card, an id of `shardplan catalog gpus`; required without --cluster",
          [d](std::string text) { d->gpu = std::move(text); });
  o->Count("--nodes", "Servers (default: as many as the layout needs)", 1,
           [d](int64_t n) { d->nodes = n; });
  o->Count("--gpus-per-node", "Cards in a server (default: 8)", 1,
           [d](int64_t n) { d->gpus_per_node = n; });
  o->Value("--cluster", "FILE",
           "Nodes, cards, links and host memory (YAML), or a folder of nvidia-smi's outputs; "
           "instead of --gpu and --gpus-per-node",
           [d](const std::string& text) { return ReadClusterFile(text, d); });
  o->Exclude("--cluster", "--gpu");
  o->Exclude("--cluster", "--gpus-per-node");
  o->Value("--gpu-memory-in-use", "SIZE", "Taken by others on every card, such as 2GiB",
           ReadBytes([d](Bytes bytes) { d->gpu_memory_in_use = bytes; }));
  o->Text("--driver", "VERSION", "NVIDIA driver of the nodes, for known issues: 570.195.03",
          [d](std::string text) { d->driver = std::move(text); });
  o->Value("--gpu-memory-total", "SIZE", "What CUDA sees of a card, where yours differs",
           ReadBytes([d](Bytes bytes) { d->gpu_memory_total = bytes; }));
  AddLinkOptions(o, d);
}

void AddLayout(OptionSet* o, Deployment* d) {
  o->Group("Engine and layout");
  o->Value("--engine", "NAME[@VERSION]",
           "vllm or sglang (default: vllm at the newest version known)",
           [d](const std::string& text) { return ParseEngine(text, d); });
  o->Count("--tp,--tensor-parallel-size,--tp-size", "Tensor parallel size (default: 1)", 1,
           [d](int64_t n) { d->sizes.tp = n; });
  o->Count("--pp,--pipeline-parallel-size,--pp-size", "Pipeline stages (default: 1)", 1,
           [d](int64_t n) { d->sizes.pp = n; });
  o->Value("--pp-partition", "N,N,…", "Layers of each stage (default: the engine's own split)",
           [d](const std::string& text) -> Status {
             SHARDPLAN_ASSIGN_OR_RETURN(d->partition, ParsePartition(text));
             return {};
           });
  o->Count("--dp,--data-parallel-size,--dp-size", "Data parallel size (default: 1)", 1,
           [d](int64_t n) { d->sizes.dp = n; });
  o->Count("--dcp,--decode-context-parallel-size,--dcp-size",
           "Decode context parallel size (default: 1)", 1, [d](int64_t n) { d->sizes.dcp = n; });
  o->Flag("--enable-expert-parallel", "Whole experts on each rank instead of slices",
          [d] { d->sizes.expert_parallel = true; });
  o->Flag("--enable-eplb", "Replicas of busy experts, moved as the load shifts",
          [d] { d->settings.enable_eplb = d->sglang.enable_eplb = true; });
  o->Count("--redundant-experts,--ep-num-redundant-experts",
           "How many, over all ranks (default: 0)", 0, [d](int64_t n) {
             d->settings.redundant_experts = n;
             d->sglang.redundant_experts = n;
           });
  o->Value("--eplb-config", "JSON", "vLLM's: num_redundant_experts, window_size",
           [d](const std::string& text) { return vllm::ReadEplbConfig(text, &d->settings); });
}

// What both engines take. SGLang's spellings stand beside vLLM's; a setting goes to both, so that
// one deployment can be asked of either.
void AddScheduling(OptionSet* o, Deployment* d) {
  EngineSettings* const s = &d->settings;
  SglangSettings* const g = &d->sglang;
  o->Group("Engine settings (left out, they take the engine's defaults)");
  o->Value("--max-model-len,--context-length", "TOKENS",
           "Window, input and output: 524288, 512K or 512k; auto fits",
           [s, g](const std::string& text) -> Status {
             SHARDPLAN_RETURN_IF_ERROR(ReadWindow(text, s));
             g->context_length = s->max_model_len;
             return {};
           });
  o->Count("--max-num-seqs,--max-running-requests", "Requests in a batch", 1, [s, g](int64_t n) {
    s->max_num_seqs = n;
    g->max_running_requests = n;
  });
  o->Value("--max-num-batched-tokens,--chunked-prefill-size", "TOKENS",
           "Tokens in a batch (SGLang: of a prompt; -1 for whole prompts)",
           [s, g](const std::string& text) -> Status {
             if (text == "-1") {
               g->chunked_prefill_size = -1;
               return {};
             }
             SHARDPLAN_ASSIGN_OR_RETURN(s->max_num_batched_tokens, ParseTokenCount(text));
             g->chunked_prefill_size = s->max_num_batched_tokens;
             return {};
           });
  o->Text("--kv-cache-dtype", "DTYPE", "auto, bfloat16, fp8 …", [s, g](const std::string& text) {
    s->kv_cache_dtype = text;
    g->kv_cache_dtype = text == "fp8" ? "fp8_e4m3" : text;
  });
  o->Text("--dtype", "DTYPE", "auto, bfloat16, float16 or float32",
          [s](std::string text) { s->dtype = std::move(text); });
  o->Count("--block-size,--page-size", "Tokens in a KV block", 1, [s, g](int64_t n) {
    s->block_size = n;
    g->page_size = n;
  });
  o->Flag("--enforce-eager,--disable-cuda-graph", "No CUDA graphs", [s, g] {
    s->enforce_eager = true;
    g->disable_cuda_graph = true;
  });
  AddPair(o, "enable-prefix-caching", "Share the cache of equal beginnings", "Don't",
          [s, g](bool on) {
            s->enable_prefix_caching = on;
            g->disable_radix_cache = !on;
          });
  o->Flag("--disable-radix-cache", "As --no-enable-prefix-caching, in SGLang's words", [s, g] {
    s->enable_prefix_caching = false;
    g->disable_radix_cache = true;
  });
  o->Exclude("--enable-prefix-caching", "--disable-radix-cache");
  o->Value("--mamba-ssm-cache-dtype,--mamba-ssm-dtype", "DTYPE",
           "Of recurrent states: auto, float32, float16, bfloat16",
           [d](const std::string& text) { return ReadStateDType(text, d); });
  o->Text("--attention-backend", "NAME", "FLASH_ATTN_MLA, FLASHMLA …; SGLang: fa3, flashmla …",
          [s, g](const std::string& text) {
            s->attention_backend = BackendName(text, true);
            g->attention_backend = LowerCase(text);
          });
  o->Value("--cpu-offload-gb", "GIB", "Weights moved to host memory, GiB a card",
           ReadDecimal([s, g](double value) { s->cpu_offload_gb = g->cpu_offload_gb = value; }));
  o->Value("--offload-group-size", "N", "Prefetch offload: of every so many layers",
           [s, g](const std::string& text) -> Status {
             int64_t size = 0;  // SGLang writes "off" as -1
             if (text != "-1") {
               SHARDPLAN_ASSIGN_OR_RETURN(size, ParseCount(text, 0));
             }
             s->offload_group_size = g->offload_group_size = size;
             return {};
           });
  o->Count("--offload-num-in-group", "the last so many move to host memory (default: 1)", 0,
           [s, g](int64_t n) { s->offload_num_in_group = g->offload_num_in_group = n; });
  o->Count("--offload-prefetch-step", "and so many are copied ahead (default: 1)", 0,
           [s, g](int64_t n) { s->offload_prefetch_step = g->offload_prefetch_step = n; });
  o->Flag("--language-model-only,--language-only", "Leave the vision tower out", [s, g] {
    s->language_model_only = true;
    g->language_only = true;
  });
  o->Text("--load-format", "NAME", "auto, safetensors, fastsafetensors …",
          [s](std::string text) { s->load_format = std::move(text); });
  o->Repeated("--env", "NAME=VALUE", "An environment variable of the engine; repeated for more",
              [d](const std::string& text) { return ParseVariable(text, d); });
}

void AddVllmScheduling(OptionSet* o, EngineSettings* s) {
  o->Value("--gpu-memory-utilization", "FRACTION", "Share of a card that the engine may use",
           ReadDecimal([s](double value) { s->gpu_memory_utilization = value; }));
  o->Value("--kv-cache-memory-bytes", "BYTES", "KV cache a card, whatever is left: 20G",
           [s](const std::string& text) { return ReadCacheBytes(text, s); });
  o->Text("--mamba-cache-mode", "MODE", "none, align or all: state layers' caches",
          [s](std::string text) { s->mamba_cache_mode = std::move(text); });
  o->Text("--mamba-cache-dtype", "DTYPE", "Of convolution states: auto, float32, float16, bfloat16",
          [s](std::string text) { s->mamba_cache_dtype = std::move(text); });
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

void AddBackends(OptionSet* o, EngineSettings* s) {
  o->Text("--offload-backend", "NAME", "uva or prefetch",
          [s](std::string text) { s->offload_backend = std::move(text); });
  // The first of them replaces what another source set.
  o->Repeated("--cpu-offload-params", "NAME,…", "Which parameters; repeated or with commas",
              [s, first = true](const std::string& text) mutable {
                if (std::exchange(first, false)) s->cpu_offload_params.clear();
                return ReadNames(text, &s->cpu_offload_params);
              });
  o->Repeated("--offload-params", "NAME,…", "Which parameters prefetch moves (default: all)",
              [s, first = true](const std::string& text) mutable {
                if (std::exchange(first, false)) s->offload_params.clear();
                return ReadNames(text, &s->offload_params);
              });
  o->Text("--mm-encoder-tp-mode", "MODE", "weights or data",
          [s](std::string text) { s->mm_encoder_tp_mode = std::move(text); });
  o->Text("--moe-backend", "NAME", "auto, marlin, triton, cutlass, deep_gemm …",
          [s](std::string text) { s->moe_backend = BackendName(std::move(text), false); });
  o->Text("--all2all-backend", "NAME", "allgather_reducescatter, deepep_low_latency …",
          [s](std::string text) { s->all2all_backend = std::move(text); });
  AddPair(o, "disable-custom-all-reduce", "All-reduce by NCCL alone", "Don't",
          [s](bool on) { s->disable_custom_all_reduce = on; });
  o->Value("--logprobs-mode", "MODE", "raw_logprobs, raw_logits, processed_logprobs …",
           [s](const std::string& text) {
             return ReadChoice(
                 text, {"processed_logits", "processed_logprobs", "raw_logits", "raw_logprobs"},
                 &s->logprobs_mode);
           });
  o->Value("--mm-ipc-gpu-memory-gb", "GIB", "Kept for video that is decoded on the card",
           ReadDecimal([s](double value) { s->mm_ipc_gpu_memory_gb = value; }));
  o->Flag("--numa-bind", "Bind each rank to its card's NUMA node", [s] { s->numa_bind = true; });
}

// What stands on the cards beside the model: a drafter, adapters, a connector's buffers.
void AddCompanions(OptionSet* o, EngineSettings* s) {
  o->Value("--speculative-config", "JSON",
           R"(Guess tokens ahead: {"method": "mtp", "num_speculative_tokens": 1})",
           [s](const std::string& text) -> Status {
             SHARDPLAN_ASSIGN_OR_RETURN(s->speculation, vllm::ParseSpeculation(text));
             return {};
           });
  o->Flag("--enable-lora", "Room for LoRA adapters beside every linear",
          [s] { s->enable_lora = true; });
  o->Count("--max-loras", "Adapters on the card at once (default: 1)", 1,
           [s](int64_t n) { s->max_loras = n; });
  o->Count("--max-lora-rank", "Largest rank of an adapter (default: 16)", 1,
           [s](int64_t n) { s->max_lora_rank = n; });
  o->Text("--lora-dtype", "DTYPE", "auto, float16 or bfloat16",
          [s](std::string text) { s->lora_dtype = std::move(text); });
  o->Flag("--fully-sharded-loras", "Divide both halves of an adapter over the ranks",
          [s] { s->fully_sharded_loras = true; });
  o->Value("--kv-transfer-config", "JSON",
           R"(Connector of disaggregated serving: {"kv_connector": "NixlConnector"})",
           [s](const std::string& text) -> Status {
             SHARDPLAN_ASSIGN_OR_RETURN(s->kv_transfer, vllm::ParseKvTransfer(text));
             return {};
           });
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
  Deployment* const d = &out->deployment;
  AddLayout(options, d);
  AddScheduling(options, d);
  options->Group("vLLM's own settings");
  options->NoteReads([d](const std::string& name) { d->vllm_options.push_back(name); });
  AddVllmScheduling(options, &d->settings);
  AddGraphs(options, &d->settings);
  AddBackends(options, &d->settings);
  AddCompanions(options, &d->settings);
  options->Group("SGLang's own settings");
  options->NoteReads([d](const std::string& name) { d->sglang_options.push_back(name); });
  AddSglangOptions(options, &d->sglang);
  options->NoteReads({});
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
  if (name == "VLLM_PP_LAYER_PARTITION" || name == "SGLANG_PP_LAYER_PARTITION") {
    SHARDPLAN_ASSIGN_OR_RETURN(out->partition, ParsePartition(value));
    return {};
  }
  SHARDPLAN_RETURN_IF_ERROR(ReadSglangVariable(name, value, &out->sglang));
  std::erase_if(s.env, [&](const OptionValue& known) { return known.first == name; });
  s.env.emplace_back(name, value);
  return {};
}

Status ParseEngine(const std::string& text, Deployment* out) {
  const size_t at = text.find('@');
  const std::string name = text.substr(0, at);
  if (name != "vllm" && name != "sglang") {
    const std::vector<std::string> close = CloseNames(name, {"vllm", "sglang"});
    return Fail(ErrorCode::kUsage, Printable(text),
                "expected vllm or sglang, with @VERSION or without",
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
