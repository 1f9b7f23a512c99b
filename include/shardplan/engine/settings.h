// The knobs of an engine, typed, as a person sets them: everything optional.
#ifndef SHARDPLAN_ENGINE_SETTINGS_H_
#define SHARDPLAN_ENGINE_SETTINGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shardplan/base/bytes.h"

namespace shardplan {

// An option and the value it took, as text: for lists of defaults, and for variables.
using OptionValue = std::pair<std::string, std::string>;

// A flag of the engine's own command that a person gave, for what depends on the version.
struct GivenFlag {
  std::string name;       // "--moe-backend"; of an object also "--attention-config.backend"
  std::string value;      // as given, words joined by blanks; "true" or "false" of a switch
  bool modelled = false;  // it became a setting; otherwise the plan does not know what it does
};

// How tokens are guessed ahead: --speculative-config, read (engine/vllm/speculative_config.h).
struct Speculation {
  std::string text;                     // as given, for the launch command
  std::string method;                   // aliases resolved: "mtp", …; empty: the model tells
  std::string asked;                    // as given, where the draft's path tells vLLM another
  int64_t tokens = 0;                   // num_speculative_tokens; 0: what the draft's config says
  std::string model;                    // a path to the draft; empty: none
  std::optional<int64_t> draft_tp;      // draft_tensor_parallel_size
  bool keeps_probabilities = false;     // draft_sample_method "probabilistic"
  bool any_vocabulary = false;          // use_heterogeneous_vocab
  int64_t lookup_min = 5;               // prompt_lookup_min, of n-grams; its default resolved
  int64_t lookup_max = 5;               // prompt_lookup_max
  int64_t tree_depth = 24;              // suffix_decoding_max_tree_depth
  std::vector<std::string> unmodelled;  // keys that change memory and are only passed on
  std::vector<std::string> unknown;     // keys that nobody here knows
};

// Where caches of requests come from or go to: --kv-transfer-config, read
// (engine/vllm/kv_transfer.h).
struct KvTransfer {
  std::string text;  // as given, for the launch command
  std::string connector;
  Bytes buffer;         // kv_buffer_size
  bool on_card = true;  // kv_buffer_device "cuda"
};

// What was asked for. A knob that is not set takes the engine's default for that version, card and
// model; the plan lists those. Names are vLLM's long flags.
struct EngineSettings {
  std::optional<int64_t> max_model_len;  // tokens
  bool max_model_len_auto = false;       // the largest that fits
  std::optional<int64_t> max_num_seqs;
  std::optional<int64_t> max_num_batched_tokens;
  std::optional<double> gpu_memory_utilization;
  std::optional<Bytes> kv_cache_memory_bytes;
  std::optional<std::string> kv_cache_dtype;  // "auto", "bfloat16", "fp8", …
  std::optional<std::string> dtype;           // "auto", "bfloat16", "float16", "float32"
  std::optional<int64_t> block_size;          // tokens
  bool enforce_eager = false;
  std::optional<bool> enable_prefix_caching;
  std::optional<std::string> mamba_cache_mode;   // "none", "align", "all"
  std::optional<std::string> mamba_cache_dtype;  // of convolution states: "auto", "float32", …
  std::optional<std::string> mamba_ssm_cache_dtype;  // of recurrent states: "auto", "float32", …
  bool disable_hybrid_kv_cache_manager = false;      // windows are allocated as full attention
  std::optional<bool> async_scheduling;
  std::optional<int64_t> num_gpu_blocks_override;  // blocks of the cache, whatever memory there is
  bool disable_custom_all_reduce = false;
  std::optional<std::string> logprobs_mode;    // "raw_logprobs", "processed_logits", …
  std::optional<std::string> offload_backend;  // "uva", "prefetch"
  double cpu_offload_gb = 0;                   // GiB per card, as vLLM counts them
  std::vector<std::string> cpu_offload_params;
  bool language_model_only = false;
  std::optional<std::string> mm_encoder_tp_mode;  // "weights", "data"
  std::optional<std::string> moe_backend;         // "auto", "marlin", "triton", …
  std::optional<std::string> attention_backend;   // "FLASH_ATTN_MLA", …
  bool numa_bind = false;
  double mm_ipc_gpu_memory_gb = 0;  // GiB per card for decoded video, taken from the cache
  std::optional<std::string> all2all_backend;  // "allgather_reducescatter", "deepep_…", …
  std::optional<Speculation> speculation;
  bool enable_lora = false;
  std::optional<int64_t> max_loras;       // adapters on the card at once
  std::optional<int64_t> max_lora_rank;   // the largest of any adapter
  std::optional<std::string> lora_dtype;  // "auto", "float16", "bfloat16"
  bool fully_sharded_loras = false;
  std::optional<KvTransfer> kv_transfer;

  // Batches and graphs.
  std::optional<bool> enable_chunked_prefill;
  std::optional<std::string> performance_mode;  // "balanced", "interactivity", "throughput"
  std::optional<int64_t> optimization_level;    // 0 to 3
  std::optional<int64_t> compilation_mode;      // 0 to 3: none, torch.compile, Dynamo once, vLLM's
  std::optional<std::string> cudagraph_mode;    // "NONE", "PIECEWISE", "FULL_AND_PIECEWISE", …
  std::optional<std::vector<int64_t>> cudagraph_capture_sizes;
  std::optional<int64_t> max_cudagraph_capture_size;
  bool sequence_parallel_pass = false;  // compilation pass "enable_sp"
  // Keys of --compilation-config that no rule here looks at.
  std::vector<std::string> compilation_keys_ignored;

  // Prefetch offload: the last `num_in_group` layers of every `group_size`; zero: off.
  int64_t offload_group_size = 0;
  int64_t offload_num_in_group = 1;
  int64_t offload_prefetch_step = 1;
  std::vector<std::string> offload_params;

  // Expert balancing: replicas of experts, over all ranks.
  bool enable_eplb = false;
  int64_t redundant_experts = 0;
  int64_t eplb_window = 1000;  // batches whose load is kept

  std::optional<std::string> load_format;  // "auto", "safetensors", "fastsafetensors", …

  // Environment variables with a meaning for memory.
  std::optional<bool> estimate_graphs;  // VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS
  std::optional<bool> v2_model_runner;  // VLLM_USE_V2_MODEL_RUNNER

  // What goes into the launch commands as it is, without a meaning here.
  std::vector<OptionValue> env;              // other variables
  std::vector<std::string> extra_arguments;  // other flags, each followed by its values
  std::optional<std::string> served_model;   // what to serve, where it is not the path planned from
  std::optional<std::string> served_draft;   // the same of the draft that speculation names

  // Flags of a command that was read, all of them, in its order: which of them this version has is
  // told beside the plan.
  std::vector<GivenFlag> command_flags;
  // Names of the keys and tokens that it had, flags and variables: their values are kept nowhere.
  std::vector<std::string> command_secrets;
};

}  // namespace shardplan

#endif  // SHARDPLAN_ENGINE_SETTINGS_H_
