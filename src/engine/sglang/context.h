// Everything SGLang's rules look at: the one argument of the files in this folder.
#ifndef SHARDPLAN_ENGINE_SGLANG_CONTEXT_H_
#define SHARDPLAN_ENGINE_SGLANG_CONTEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/sglang/profile.h"
#include "shardplan/base/units.h"
#include "shardplan/hardware/gpu.h"
#include "shardplan/layout/layout.h"
#include "shardplan/model/architecture.h"
#include "shardplan/model/tensor_table.h"

namespace shardplan::sglang {

enum class Disaggregation { kNone, kPrefill, kDecode };

// What was asked for, by SGLang's own names (python/sglang/srt/server_args.py); what is not set
// takes the default of the version, the card and the model.
struct ServerArgs {
  // Parallelism. tp_size counts the GPUs of one pipeline stage, those of DP attention included.
  int64_t tp_size = 1;
  int64_t pp_size = 1;
  int64_t dp_size = 1;
  int64_t ep_size = 1;
  int64_t moe_dp_size = 1;
  int64_t dcp_size = 1;
  int64_t nnodes = 1;
  bool enable_dp_attention = false;
  bool enable_dp_lm_head = false;
  std::optional<int64_t> moe_dense_tp_size;
  std::optional<std::vector<int64_t>> pp_partition;  // SGLANG_PP_LAYER_PARTITION

  std::string moe_a2a_backend = "none";
  std::string moe_runner_backend = "auto";
  std::optional<std::string> attention_backend;
  std::optional<std::string> prefill_attention_backend;
  std::optional<std::string> decode_attention_backend;

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
  bool disable_overlap_schedule = false;
  double swa_full_tokens_ratio = 0.8;
  double cpu_offload_gb = 0;  // GiB a rank
  Disaggregation disaggregation_mode = Disaggregation::kNone;
  int64_t disaggregation_decode_extra_slots = 0;

  // Graphs.
  bool disable_cuda_graph = false;              // of decode
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
  int64_t draft_layers = 0;           // that the draft adds to the cache
  int64_t draft_bytes_per_token = 0;  // of a draft with a cache of its own shape (DFLASH, DSPARK)

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

  bool is_speculative() const { return !speculative_algorithm.empty(); }
  // As the schedule runs: pipeline stages switch the overlap off.
  bool overlap() const { return !disable_overlap_schedule && pp_size == 1; }
};

struct Context {
  const Architecture* arch = nullptr;
  const TensorTable* table = nullptr;
  const GpuSpec* gpu = nullptr;
  const Profile* profile = nullptr;
  ServerArgs args;
};

inline bool IsHip(const GpuSpec& gpu) { return gpu.vendor == "amd"; }
// SGLang's use_mla_backend: the attention that caches tokens keeps a latent.
inline bool UsesMla(const Architecture& arch) {
  return arch.has_kind(AttentionKind::kMla) || !arch.compress_ratio.empty();
}
inline int64_t ContextLength(const Context& c) {
  return c.args.context_length.value_or(c.arch->max_positions);
}
// nvidia-smi's memory.total, as the defaults look at it; 0 where it is not known.
inline int64_t CardMib(const GpuSpec& gpu) { return gpu.device_total.bytes.central.count() / kMiB; }

}  // namespace shardplan::sglang

#endif  // SHARDPLAN_ENGINE_SGLANG_CONTEXT_H_
