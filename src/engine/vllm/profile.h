// One vLLM version, as data.
#ifndef SHARDPLAN_ENGINE_VLLM_PROFILE_H_
#define SHARDPLAN_ENGINE_VLLM_PROFILE_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "shardplan/base/basis.h"
#include "shardplan/base/config_store.h"
#include "shardplan/base/finding.h"
#include "shardplan/base/result.h"

namespace shardplan::vllm {

enum class GraphEstimate { kAlways, kV1Only, kNever };  // when it is deducted from the budget
enum class V2Runner { kAll, kDenseAndListed };
enum class PaddingOver { kTp, kDpTp };

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

// configs/engines/vllm/<version>.yaml. Every field's source is kept for explanations.
struct Profile {
  std::string version;
  double gpu_memory_utilization = 0;
  GraphEstimate graph_estimate = GraphEstimate::kAlways;
  bool null_block_reserved = true;
  int64_t mla_hybrid_min_block = 0;
  int64_t prefill_checkpoint_blocks = 0;
  bool compressed_cache_is_fp8 = false;  // DeepSeek-V4's, where no dtype is given; else refused
  PaddingOver expert_padding_over = PaddingOver::kDpTp;
  int64_t expert_padding_min = 0;
  V2Runner v2_runner = V2Runner::kAll;
  bool allocator_rounding = false;
  int64_t vocabulary_multiple = 64;
  int64_t large_card_gib = 0;
  int64_t capture_cap_sm10x = 0;

  MemoryConstant library_modules;
  MemoryConstant nccl_growth_hopper;
  MemoryConstant nccl_growth_older;
  MemoryConstant nccl_group;
  MemoryConstant trtllm_moe_runtime;
  MemoryConstant graph_estimate_base;
  double nccl_across_nodes_high = 0;  // GiB

  std::map<std::string, std::string> sources;  // rule → source
};

// Versions with a profile, oldest first.
std::vector<std::string> ProfileVersions(const ConfigStore& store);

// The profile of `version`; empty means the newest. A version between two profiles takes the older
// of them, one newer than all takes the newest, each with a note in `findings`; one older than all
// is refused with the range (kUnsupported), and text that is no version is kUsage.
Result<Profile> LoadProfile(const ConfigStore& store, std::string_view version,
                            std::vector<Finding>* findings);

}  // namespace shardplan::vllm

#endif  // SHARDPLAN_ENGINE_VLLM_PROFILE_H_
