// Everything SGLang's rules look at: the one argument of the files in this folder.
#ifndef SHARDPLAN_ENGINE_SGLANG_CONTEXT_H_
#define SHARDPLAN_ENGINE_SGLANG_CONTEXT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/sglang/profile.h"
#include "shardplan/base/units.h"
#include "shardplan/engine/sglang_settings.h"
#include "shardplan/hardware/gpu.h"
#include "shardplan/layout/layout.h"
#include "shardplan/model/architecture.h"
#include "shardplan/model/tensor_table.h"

namespace shardplan {
class WeightCache;  // sharding/weight_cache.h
}

namespace shardplan::sglang {

// The arguments of one server (python/sglang/srt/server_args.py), by SGLang's own names.
struct ServerArgs : SglangSettings {
  // tp_size counts the GPUs of one pipeline stage, those of DP attention included.
  int64_t tp_size = 1;
  int64_t pp_size = 1;
  int64_t dp_size = 1;
  int64_t dcp_size = 1;
  int64_t nnodes = 1;
  std::optional<std::vector<int64_t>> pp_partition;  // SGLANG_PP_LAYER_PARTITION

  int64_t draft_layers = 0;  // that the draft adds to the cache
  bool draft_tokens_given = false;

  // As the schedule runs: pipeline stages switch the overlap off.
  bool overlap() const { return !disable_overlap_schedule && pp_size == 1; }
};

struct Context {
  WeightCache* weights = nullptr;  // of ranks; null: nothing is kept
  const Architecture* arch = nullptr;
  const TensorTable* table = nullptr;
  const GpuSpec* gpu = nullptr;
  const Profile* profile = nullptr;
  DType dtype = DType::kBF16;  // that the table was made for: --dtype
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
