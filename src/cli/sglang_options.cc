#include "cli/sglang_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/sglang/legality.h"
#include "shardplan/base/file.h"
#include "shardplan/base/suggest.h"
#include "shardplan/base/units.h"

namespace shardplan::cli {
namespace {

// A word and what it stands for.
template <typename T>
using Choices = std::vector<std::pair<std::string, T>>;

template <typename T>
Result<T> Choose(const std::string& text, const Choices<T>& choices) {
  std::vector<std::string> names;
  for (const auto& [name, value] : choices) {
    if (name == text) return value;
    names.push_back(name);
  }
  return Fail(ErrorCode::kUsage, Printable(text), "expected " + JoinWithOr(names));
}

template <typename T>
OptionSet::Reader ReadChoiceTo(Choices<T> choices, std::function<void(T)> set) {
  return [choices = std::move(choices), set = std::move(set)](const std::string& text) -> Status {
    SHARDPLAN_ASSIGN_OR_RETURN(const T value, Choose(text, choices));
    set(value);
    return {};
  };
}

// One of `names`.
OptionSet::Reader ReadName(const std::vector<std::string>& names,
                           std::function<void(std::string)> set) {
  return [names, set = std::move(set)](const std::string& text) -> Status {
    if (std::find(names.begin(), names.end(), text) == names.end()) {
      const std::vector<std::string> close = CloseNames(text, names);
      return Fail(ErrorCode::kUsage, Printable(text), "SGLang has no backend of this name",
                  close.empty() ? "one of " + JoinWithOr(names)
                                : "did you mean " + JoinWithOr(close) + "?");
    }
    set(text);
    return {};
  };
}

OptionSet::Reader ReadNumber(std::function<void(double)> set) {
  return [set = std::move(set)](const std::string& text) -> Status {
    SHARDPLAN_ASSIGN_OR_RETURN(const double value, ParseDecimal(text));
    set(value);
    return {};
  };
}

OptionSet::Reader ReadSize(std::function<void(Bytes)> set) {
  return [set = std::move(set)](const std::string& text) -> Status {
    SHARDPLAN_ASSIGN_OR_RETURN(const Bytes bytes, ParseBytes(text));
    set(bytes);
    return {};
  };
}

// Above 0 and below 1.
Status ReadFraction(const std::string& text, SglangSettings* s) {
  const Result<double> value = ParseDecimal(text);
  if (!value || *value <= 0 || *value >= 1) {
    return Fail(ErrorCode::kUsage, Printable(text), "expected a fraction between 0 and 1");
  }
  s->mem_fraction_static = *value;
  return {};
}

Status ReadGraphSizes(const std::string& text, std::vector<int64_t>* sizes) {
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    SHARDPLAN_ASSIGN_OR_RETURN(const int64_t size, ParseCount(text.substr(begin, end - begin), 1));
    sizes->push_back(size);
    begin = end + 1;
  }
  return {};
}

void AddParallelism(OptionSet* o, SglangSettings* s) {
  o->Count("--ep-size", "Expert parallel size, a divisor of TP", 1,
           [s](int64_t n) { s->ep_size = n; });
  o->Flag("--enable-ep-moe", "The same as --ep-size of all of TP, before 0.5.2",
          [s] { s->enable_ep_moe = true; });
  o->Flag("--enable-deepep-moe", "The same as --moe-a2a-backend deepep, before 0.5.2",
          [s] { s->moe_a2a_backend = "deepep"; });
  o->Flag("--enable-dp-attention", "Attention by data parallel inside the TP group",
          [s] { s->enable_dp_attention = true; });
  o->Flag("--enable-dp-lm-head", "The head by the attention's TP",
          [s] { s->enable_dp_lm_head = true; });
  o->Count("--moe-dense-tp-size", "1: dense MLPs whole on every rank", 1,
           [s](int64_t n) { s->moe_dense_tp_size = n; });
  o->Count("--moe-dp-size", "Data parallel size of the experts", 1,
           [s](int64_t n) { s->moe_dp_size = n; });
  o->Value(
      "--moe-a2a-backend", "NAME", "none, deepep, mooncake, flashinfer, megamoe …",
      ReadName(sglang::AllToAllBackends(), [s](std::string text) { s->moe_a2a_backend = text; }));
  o->Value("--moe-runner-backend", "NAME", "auto, marlin, triton, flashinfer_mxfp4 …",
           ReadName(sglang::MoeRunners(), [s](std::string text) { s->moe_runner_backend = text; }));
  o->Value("--prefill-attention-backend", "NAME", "Of prefill, where it differs",
           ReadName(sglang::AttentionBackends(),
                    [s](std::string text) { s->prefill_attention_backend = text; }));
  o->Value("--decode-attention-backend", "NAME", "Of decode, where it differs",
           ReadName(sglang::AttentionBackends(),
                    [s](std::string text) { s->decode_attention_backend = text; }));
}

void AddMemory(OptionSet* o, SglangSettings* s) {
  o->Value("--mem-fraction-static", "FRACTION",
           "Share of the memory that is free before loading, for weights and caches",
           [s](const std::string& text) { return ReadFraction(text, s); });
  o->Value("--free-memory-before-load", "SIZE",
           "As a start prints it (Load weight begin. avail mem), such as 138.0GiB",
           ReadSize([s](Bytes bytes) { s->free_before_load = bytes; }));
  o->Count("--max-prefill-tokens", "Tokens in a batch of prompts (default: 16384)", 1,
           [s](int64_t n) { s->max_prefill_tokens = n; });
  o->Count("--max-total-tokens", "Tokens of the KV pool at most", 1,
           [s](int64_t n) { s->max_total_tokens = n; });
  o->Value("--swa-full-tokens-ratio", "RATIO", "Tokens of window layers to those of others: 0.8",
           ReadNumber([s](double value) { s->swa_full_tokens_ratio = value; }));
  o->Flag("--disable-overlap-schedule", "Schedule after each batch",
          [s] { s->disable_overlap_schedule = true; });
  o->Flag("--enable-symm-mem", "Symmetric memory for collectives",
          [s] { s->enable_symm_mem = true; });
  o->Value("--mm-feature-transport", "NAME", "cpu, cuda_ipc or cuda_vmm",
           ReadChoiceTo<bool>({{"cpu", false}, {"cuda_ipc", true}, {"cuda_vmm", true}},
                              [s](bool on) { s->feature_transport_on_gpu = on; }));
  o->Flag("--enable-hierarchical-cache", "A second KV cache in host memory",
          [s] { s->enable_hierarchical_cache = true; });
  o->Value("--hicache-ratio", "RATIO", "its tokens to the card's (default: 2.0)",
           ReadNumber([s](double value) { s->hicache_ratio = value; }));
  o->Count("--hicache-size", "or its decimal gigabytes a rank", 0,
           [s](int64_t n) { s->hicache_size = n; });
  o->Value("--disaggregation-mode", "MODE", "null, prefill or decode",
           ReadChoiceTo<Disaggregation>({{"null", Disaggregation::kNone},
                                         {"prefill", Disaggregation::kPrefill},
                                         {"decode", Disaggregation::kDecode}},
                                        [s](Disaggregation m) { s->disaggregation_mode = m; }));
  o->Count("--disaggregation-decode-extra-slots", "Requests on their way to a decode server", 0,
           [s](int64_t n) { s->disaggregation_decode_extra_slots = n; });
}

void AddGraphs(OptionSet* o, SglangSettings* s) {
  o->Count("--cuda-graph-max-bs-decode,--cuda-graph-max-bs", "Largest batch of a decode graph", 1,
           [s](int64_t n) { s->cuda_graph_max_bs = n; });
  o->Repeated("--cuda-graph-bs-decode,--cuda-graph-bs", "N,N,…", "Batches of decode graphs",
              [s, first = true](const std::string& text) mutable {
                if (std::exchange(first, false)) s->cuda_graph_bs.clear();
                return ReadGraphSizes(text, &s->cuda_graph_bs);
              });
  o->Count("--cuda-graph-max-bs-prefill,--piecewise-cuda-graph-max-tokens",
           "Most tokens of a prefill graph", 1, [s](int64_t n) { s->prefill_graph_max_bs = n; });
  o->Value("--cuda-graph-backend-decode", "NAME", "full or disabled",
           ReadChoiceTo<bool>(
               {{"full", false}, {"breakable", false}, {"tc_piecewise", false}, {"disabled", true}},
               [s](bool off) { s->disable_decode_graph = off; }));
  o->Value("--cuda-graph-backend-prefill", "NAME", "breakable, tc_piecewise or disabled",
           ReadChoiceTo<PrefillGraph>({{"breakable", PrefillGraph::kBreakable},
                                       {"tc_piecewise", PrefillGraph::kPiecewise},
                                       {"full", PrefillGraph::kBreakable},
                                       {"disabled", PrefillGraph::kDisabled}},
                                      [s](PrefillGraph g) { s->prefill_graph = g; }));
  o->Flag("--disable-prefill-cuda-graph,--disable-piecewise-cuda-graph", "No prefill graphs",
          [s] { s->prefill_graph = PrefillGraph::kDisabled; });
  o->Flag("--disable-decode-cuda-graph", "No decode graphs",
          [s] { s->disable_decode_graph = true; });
}

void AddStates(OptionSet* o, SglangSettings* s) {
  o->Value("--mamba-full-memory-ratio", "RATIO", "Bytes of states to bytes of KV (default: 0.9)",
           ReadNumber([s](double value) { s->mamba_full_memory_ratio = value; }));
  o->Count("--max-mamba-cache-size", "States in the pool, over all DP ranks", 1,
           [s](int64_t n) { s->max_mamba_cache_size = n; });
  o->Value("--mamba-radix-cache-strategy,--mamba-scheduler-strategy", "NAME",
           "auto, no_buffer, extra_buffer or extra_buffer_lazy",
           ReadChoiceTo<std::optional<StateStrategy>>(
               {{"auto", std::nullopt},
                {"no_buffer", StateStrategy::kNoBuffer},
                {"extra_buffer", StateStrategy::kExtraBuffer},
                {"extra_buffer_lazy", StateStrategy::kExtraBufferLazy}},
               [s](std::optional<StateStrategy> strategy) { s->mamba_radix_strategy = strategy; }));
  o->Flag("--enable-linear-replayssm-spec,--enable-gdn-replayssm-spec",
          "Replay states of guessed tokens", [s] { s->enable_linear_replayssm_spec = true; });
  o->Count("--linear-replayssm-cache-len", "tokens that are kept for it (default: 16)", 1,
           [s](int64_t n) { s->linear_replayssm_cache_len = n; });
}

void AddSpeculation(OptionSet* o, SglangSettings* s) {
  // Any name may be registered; what is not known here is told as a finding.
  o->Text("--speculative-algorithm", "NAME", "EAGLE, EAGLE3, NEXTN, STANDALONE, NGRAM, DSPARK …",
          [s](std::string text) {
            for (char& c : text) {
              if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
            }
            s->speculative_algorithm = std::move(text);
          });
  o->Text("--speculative-draft-model-path,--speculative-draft-model", "PATH",
          "The draft: a directory or its config.json",
          [s](std::string text) { s->speculative_draft_model_path = std::move(text); });
  o->Count("--speculative-num-draft-tokens", "Tokens that are checked at once", 1,
           [s](int64_t n) { s->speculative_num_draft_tokens = n; });
  o->Count("--speculative-num-steps", "Steps of the draft", 1,
           [s](int64_t n) { s->speculative_num_steps = n; });
  o->Count("--speculative-eagle-topk", "Branches a step", 1,
           [s](int64_t n) { s->speculative_eagle_topk = n; });
  o->Value("--draft-weights", "SIZE", "What the draft takes of a card, where it is known",
           ReadSize([s](Bytes bytes) { s->draft_weights = bytes; }));
  o->Count("--draft-bytes-per-token", "and of the KV pool for each token", 0,
           [s](int64_t n) { s->draft_bytes_per_token = n; });
}

bool IsOn(const std::string& value) {
  return value == "1" || value == "true" || value == "True" || value == "yes" || value == "y";
}

}  // namespace

void AddSglangOptions(OptionSet* o, SglangSettings* s) {
  AddParallelism(o, s);
  AddMemory(o, s);
  AddGraphs(o, s);
  AddStates(o, s);
  AddSpeculation(o, s);
}

Status ReadSglangVariable(const std::string& name, const std::string& value, SglangSettings* s) {
  const auto refuse = [&](std::string expected) -> Status {
    return Fail(ErrorCode::kUsage, Printable(name + "=" + value), std::move(expected));
  };
  if (name == "SGLANG_AITER_K3_OPT") {
    s->aiter_k3_opt = IsOn(value);
  } else if (name == "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN") {
    s->longer_context = IsOn(value);
  } else if (name == "SGLANG_OPT_MAMBA_SKIP_DECODE_LOCK") {
    s->skip_decode_lock = IsOn(value);
  } else if (name == "SGLANG_SYMM_MEM_PREALLOC_GB_SIZE") {
    const Result<double> gib = ParseDecimal(value);
    if (!gib) return refuse("expected GiB, zero or more");
    s->symm_mem_prealloc_gib = *gib;
  } else if (name == "SGLANG_SWA_EVICTION_INTERVAL" ||
             name == "SGLANG_OPT_DEEPGEMM_MEGA_MOE_NUM_MAX_TOKENS_PER_RANK") {
    const Result<int64_t> count = ParseCount(value, 1);
    if (!count) return refuse("expected a whole number, at least 1");
    (name == "SGLANG_SWA_EVICTION_INTERVAL" ? s->swa_eviction_interval : s->mega_moe_tokens) =
        *count;
  } else if (name == "SGLANG_MAMBA_CONV_DTYPE" || name == "SGLANG_MAMBA_SSM_DTYPE") {
    const auto dtype = Choose<DType>(
        value, {{"float32", DType::kF32}, {"float16", DType::kF16}, {"bfloat16", DType::kBF16}});
    if (!dtype) return refuse("expected float32, float16 or bfloat16");
    if (name == "SGLANG_MAMBA_CONV_DTYPE") {
      s->mamba_conv_dtype = *dtype;
    } else if (!s->mamba_ssm_dtype) {
      s->mamba_ssm_dtype = *dtype;
    }
  }
  return {};
}

}  // namespace shardplan::cli
