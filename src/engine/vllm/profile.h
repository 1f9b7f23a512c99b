// One vLLM version, as data.
#ifndef SHARDPLAN_ENGINE_VLLM_PROFILE_H_
#define SHARDPLAN_ENGINE_VLLM_PROFILE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/evidence.h"
#include "shardplan/base/basis.h"
#include "shardplan/base/config_store.h"
#include "shardplan/base/finding.h"
#include "shardplan/base/result.h"

namespace shardplan::vllm {

enum class GraphEstimate { kAlways, kV1Only, kNever };  // when it is deducted from the budget
enum class TokensPrinted { kBlocks, kConcurrency };     // what "GPU KV cache size" counts
enum class WindowsInFlight { kOneBatch, kConcurrentBatches };  // what a window has to outlast
enum class V2Runner { kNone, kQwen3Dense, kQwen3LlamaMistralDense, kDense, kDenseAndListed, kAll };
enum class PaddingOver { kTp, kDpTp };
// What the dummy sampler call runs: a sort or FlashInfer, the sort, the Triton filter.
enum class SamplerPath { kSort, kSortNative, kTriton };
enum class ModularMoe { kNone, kAllButWna16, kAll };  // kernels that take the modular workspaces

// A memory constant with its range and provenance.
struct MemoryConstant {
  double low = 0;
  double central = 0;
  double high = 0;
  double per_doubling_central = 0;  // added per doubling of TP beyond two
  double per_doubling_high = 0;
  std::string source;

  Range At(int64_t tp) const;  // in bytes
};

// What configs/engines/vllm/rules.yaml says of one version; docs there and in docs/versions.md.
struct Profile {
  std::string version;
  double gpu_memory_utilization = 0;
  GraphEstimate graph_estimate = GraphEstimate::kAlways;
  bool free_memory_budget = true;  // the budget takes the drop of free memory, early buffers too
  bool null_block_reserved = true;
  bool drafts_over_pp = true;         // speculation and pipeline stages go together at all
  bool aux_states_over_pp = true;     // stages hand on the hidden states that eagle3 and dflash see
  bool override_before_check = true;  // --num-gpu-blocks-override; else memory is checked first
  TokensPrinted tokens_printed = TokensPrinted::kConcurrency;
  WindowsInFlight windows_in_flight = WindowsInFlight::kConcurrentBatches;
  int64_t mla_hybrid_min_block = 0;
  bool hybrid_prefix_caching = true;  // on by default for models with states
  int64_t prefill_checkpoint_blocks = 0;
  bool compressed_cache_is_fp8 = false;  // DeepSeek-V4's, where no dtype is given; else refused
  PaddingOver expert_padding_over = PaddingOver::kDpTp;
  int64_t expert_padding_min = 0;
  bool can_slice_shared = false;  // VLLM_KIMI_K3_SHARD_SP_SHARED_EXPERT without MegaMoE
  V2Runner v2_runner = V2Runner::kAll;
  SamplerPath sampler = SamplerPath::kTriton;
  int64_t moe_chunk_tokens = 0;     // the MoE forward's chunk; 0: the whole batch
  int64_t moe_dp_chunk_tokens = 0;  // of a batch for experts on other engines; 0: all of it
  ModularMoe modular_moe = ModularMoe::kAll;
  bool workspace_manager = true;  // MoE workspaces lie under the later phases
  std::string hopper_fp8_moe;     // backend of FP8 experts on Hopper
  bool allreduce_fusion = true;
  bool allocator_rounding = false;
  int64_t vocabulary_multiple = 64;
  int64_t large_card_sequences = 0;  // cards of 70 GiB and more, A100s excepted
  int64_t largest_card_gib = 0;      // from where 16,384 tokens are the default; 0: no such card
  int64_t capture_cap_sm10x = 0;
  bool p2p_nccl_connector = true;  // P2pNcclConnector is one of vLLM's own
  int64_t capture_step = 0;        // between graph sizes of 256 and more
  bool capture_decodes = true;     // graphs for every number of speculating requests

  MemoryConstant library_modules;
  MemoryConstant nccl_growth_hopper;
  MemoryConstant nccl_growth_older;
  MemoryConstant nccl_without_custom_all_reduce;
  MemoryConstant nccl_group;
  MemoryConstant nccl_group_without_nvlink;
  MemoryConstant trtllm_moe_runtime;
  MemoryConstant graph_estimate_base;
  double nccl_across_nodes_high = 0;  // GiB

  RuleSources sources;  // rule → how it is known

  int64_t CountOf(Evidence evidence) const;  // rules that are known so
};

// Releases with rules, oldest first, and files engines/vllm/<version>.yaml of one's own.
std::vector<std::string> ProfileVersions(const ConfigStore& store);

// The rules of `version`; empty means the newest. A version that is no release takes the rules of
// the nearest older one; one newer than all takes the newest; `findings` says so. One older than
// all is refused with the range (kUnsupported), and text that is no version is kUsage.
Result<Profile> LoadProfile(const ConfigStore& store, std::string_view version,
                            std::vector<Finding>* findings);

// Told where `version` (empty: the newest) came before the first one that has the model's class:
// the engine would not start.
std::optional<Finding> CheckModelVersion(const ConfigStore& store, std::string_view version,
                                         const std::string& architecture);

}  // namespace shardplan::vllm

#endif  // SHARDPLAN_ENGINE_VLLM_PROFILE_H_
