// SGLang's knobs, typed, by the names of its server arguments.
#ifndef SHARDPLAN_ENGINE_SGLANG_SETTINGS_H_
#define SHARDPLAN_ENGINE_SGLANG_SETTINGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shardplan/base/bytes.h"
#include "shardplan/checkpoint/dtype.h"

namespace shardplan {

// Of prefill graphs: not captured, captured piece by piece, or whole with breaks.
enum class PrefillGraph { kDisabled, kPiecewise, kBreakable };
// What the prefix cache keeps of a running request's states: --mamba-radix-cache-strategy.
enum class StateStrategy { kNoBuffer, kExtraBuffer, kExtraBufferLazy };
// Which half of a disaggregated deployment a server is.
enum class Disaggregation { kNone, kPrefill, kDecode };

// What was asked for (python/sglang/srt/server_args.py); what is not set takes the default of the
// version, the card and the model. Sizes that both engines have are those of the deployment.
struct SglangSettings {
  // Parallelism.
  int64_t ep_size = 1;
  int64_t moe_dp_size = 1;
  bool enable_dp_attention = false;
  bool enable_dp_lm_head = false;
  std::optional<int64_t> moe_dense_tp_size;
  int64_t redundant_experts = 0;  // --ep-num-redundant-experts, over all ranks
  bool enable_eplb = false;
  bool enable_ep_moe = false;  // experts whole on every rank, in releases before 0.5.2

  std::string moe_a2a_backend = "none";  // "deepep" for --enable-deepep-moe
  std::string moe_runner_backend = "auto";
  std::optional<std::string> attention_backend;
  std::optional<std::string> prefill_attention_backend;
  std::optional<std::string> decode_attention_backend;

  // Rows of MegaMoE's buffer, SGLANG_OPT_DEEPGEMM_MEGA_MOE_NUM_MAX_TOKENS_PER_RANK; 0: a batch.
  int64_t mega_moe_tokens = 0;

  // Memory and scheduling.
  std::optional<double> mem_fraction_static;
  std::optional<int64_t> context_length;
  std::optional<int64_t> chunked_prefill_size;  // -1: whole prompts
  int64_t max_prefill_tokens = 16384;
  std::optional<int64_t> max_running_requests;
  std::optional<int64_t> max_total_tokens;
  std::optional<int64_t> page_size;
  std::string kv_cache_dtype = "auto";
  bool disable_radix_cache = false;
  bool longer_context = false;  // SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN
  bool disable_overlap_schedule = false;
  double swa_full_tokens_ratio = 0.8;
  double cpu_offload_gb = 0;  // GiB a rank
  int64_t offload_group_size = 0;
  int64_t offload_num_in_group = 1;
  int64_t offload_prefetch_step = 1;
  Disaggregation disaggregation_mode = Disaggregation::kNone;
  int64_t disaggregation_decode_extra_slots = 0;

  // Graphs.
  bool disable_cuda_graph = false;              // all of them
  bool disable_decode_graph = false;            // --cuda-graph-backend-decode disabled
  std::optional<int64_t> cuda_graph_max_bs;     // --cuda-graph-max-bs-decode
  std::vector<int64_t> cuda_graph_bs;           // --cuda-graph-bs-decode
  std::optional<PrefillGraph> prefill_graph;    // --cuda-graph-backend-prefill
  std::optional<int64_t> prefill_graph_max_bs;  // --cuda-graph-max-bs-prefill

  // States of linear attention.
  double mamba_full_memory_ratio = 0.9;
  std::optional<int64_t> max_mamba_cache_size;  // slots over all DP ranks
  std::optional<DType> mamba_ssm_dtype;
  DType mamba_conv_dtype = DType::kBF16;              // SGLANG_MAMBA_CONV_DTYPE
  std::optional<StateStrategy> mamba_radix_strategy;  // none: auto
  bool enable_linear_replayssm_spec = false;
  int64_t linear_replayssm_cache_len = 16;
  bool skip_decode_lock = false;  // SGLANG_OPT_MAMBA_SKIP_DECODE_LOCK

  // Speculative decoding.
  std::string speculative_algorithm;  // "EAGLE", "EAGLE3", "NEXTN", "STANDALONE", "NGRAM", …
  int64_t speculative_num_draft_tokens = 0;
  std::optional<int64_t> speculative_num_steps;
  std::optional<int64_t> speculative_eagle_topk;
  std::string speculative_draft_model_path;
  std::optional<Bytes> draft_weights;  // of a rank, where they are known
  int64_t draft_bytes_per_token = 0;   // of a draft with a cache of its own shape (DFLASH, DSPARK)

  bool enable_symm_mem = false;
  double symm_mem_prealloc_gib = 0;  // SGLANG_SYMM_MEM_PREALLOC_GB_SIZE; 0: the default
  bool language_only = false;
  bool feature_transport_on_gpu = false;  // --mm-feature-transport cuda_ipc or cuda_vmm
  int64_t swa_eviction_interval = 1;      // SGLANG_SWA_EVICTION_INTERVAL
  bool aiter_k3_opt = false;              // SGLANG_AITER_K3_OPT

  // Host cache.
  bool enable_hierarchical_cache = false;
  std::optional<double> hicache_ratio;
  int64_t hicache_size = 0;  // decimal GB a rank

  // "Load weight begin. avail mem=…" of a start, the least of all ranks: replaces what is derived.
  std::optional<Bytes> free_before_load;

  bool is_speculative() const { return !speculative_algorithm.empty(); }
};

}  // namespace shardplan

#endif  // SHARDPLAN_ENGINE_SGLANG_SETTINGS_H_
