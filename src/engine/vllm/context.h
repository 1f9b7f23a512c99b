// Everything vLLM's rules look at, resolved: the one argument of the files in this folder.
#ifndef SHARDPLAN_ENGINE_VLLM_CONTEXT_H_
#define SHARDPLAN_ENGINE_VLLM_CONTEXT_H_

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/vllm/capture_sizes.h"
#include "engine/vllm/profile.h"
#include "shardplan/base/finding.h"
#include "shardplan/engine/settings.h"
#include "shardplan/hardware/gpu.h"
#include "shardplan/layout/layout.h"
#include "shardplan/model/architecture.h"
#include "shardplan/model/tensor_table.h"

namespace shardplan::vllm {

// Settings with every default filled in.
struct Resolved {
  int64_t max_model_len = 0;
  int64_t max_num_seqs = 0;
  int64_t max_num_batched_tokens = 0;
  double gpu_memory_utilization = 0;
  bool prefix_caching = true;
  std::string mamba_cache_mode;  // "none", "align" or "all"; empty for models without state layers
  DType dtype = DType::kBF16;    // of weights and activations on the card
  std::string kv_cache_dtype;    // as given: "auto", "fp8", …
  std::string kv_stored_dtype;   // as the cache holds it: "bfloat16", "fp8", "fp8_ds_mla", …
  int64_t kv_element_bytes = 2;
  bool fp8_ds_mla = false;                  // latents of 656 B a token, scales included
  DType convolution_dtype = DType::kBF16;   // of the convolutions' states
  DType state_dtype = DType::kBF16;         // of recurrent states but KDA's, which are fp32
  int64_t in_flight_tokens = 0;             // of batches under way: windows outlast them
  int64_t draft_tokens = 0;                 // guessed ahead by speculative decoding
  std::vector<AttentionKind> draft_layers;  // that a draft model adds to the caches
  std::string attention_backend;            // as vLLM selects it
  int64_t kernel_block = 16;                // what that backend's blocks are multiples of
  int64_t block_size = 16;                  // before hybrid alignment
  std::string moe_backend;                  // "marlin", "deep_gemm", …; empty for dense models
  std::string all2all_backend;              // how tokens reach experts on other engines
  bool v2_runner = true;
  bool vision_on_device = false;
  bool vision_sharded = false;
  bool sequence_parallel = false;  // tokens of mixtures are split over the TP ranks,
  bool replicate_shared = false;   // and shared experts are whole on each of them
  bool compiled = false;           // torch.compile; breakable-graph models run eager Python
  GraphMode graph_mode = GraphMode::kNone;  // what the attention backend leaves of the mode
  std::vector<int64_t> capture_sizes;       // empty with --enforce-eager
  GraphCounts graphs;                       // that are captured
};

struct Draft;  // engine/vllm/speculative.h
}  // namespace shardplan::vllm

namespace shardplan {
class WeightCache;  // sharding/weight_cache.h
}

namespace shardplan::vllm {

struct Context {
  const Architecture* arch = nullptr;
  const TensorTable* table = nullptr;
  const GpuSpec* gpu = nullptr;
  const Profile* profile = nullptr;
  ParallelSizes sizes;
  std::vector<StageRange> stages;
  EngineSettings settings;
  Resolved resolved;
  bool tp_spans_nodes = false;
  bool experts_span_nodes = false;
  WeightCache* weights = nullptr;  // of ranks; null: nothing is kept
  bool figures_only = false;       // nobody reads the rules behind them
  const Draft* draft = nullptr;  // what guesses tokens ahead with weights of its own; null: nothing

  // A rule in words, where somebody reads it: a search makes thousands of plans for their figures.
  template <typename... Args>
  std::string Say(fmt::format_string<Args...> text, Args&&... args) const {
    return figures_only ? std::string() : fmt::format(text, std::forward<Args>(args)...);
  }
};

// Kimi-Linear and Kimi-K3 are one class in vLLM (vllm/models/kimi_k3): its paddings and its
// sequence parallelism are theirs alone.
inline bool IsKimiClass(const Architecture& arch) { return arch.kda.heads > 0; }

// Fills in every default for this version, card and model, and lists those that were not given.
// Fails with kUsage for values vLLM would not accept (a utilization above one, an unknown dtype).
Result<Resolved> ResolveSettings(const Context& context, std::vector<OptionValue>* defaults,
                                 std::vector<Finding>* findings);

}  // namespace shardplan::vllm

#endif  // SHARDPLAN_ENGINE_VLLM_CONTEXT_H_
