// How many ranks there are, what each of them holds, and where each of them sits.
#ifndef SHARDPLAN_LAYOUT_LAYOUT_H_
#define SHARDPLAN_LAYOUT_LAYOUT_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shardplan/base/result.h"

namespace shardplan {

// Sizes of the parallel groups. Every size is at least one.
struct ParallelSizes {
  int64_t tp = 1;   // tensor parallel
  int64_t pp = 1;   // pipeline parallel
  int64_t dp = 1;   // data parallel: engines with a KV pool each, sharing the experts
  int64_t dcp = 1;  // decode context parallel: splits the TP group for the KV cache
  bool expert_parallel = false;
  // SGLang's: an expert-parallel size of its own, and data parallelism inside the TP group (of
  // attention), whose ranks are no further GPUs.
  std::optional<int64_t> expert_size = {};
  bool dp_in_tp = false;

  friend auto operator<=>(const ParallelSizes&, const ParallelSizes&) = default;

  int64_t world() const { return (dp_in_tp ? 1 : dp) * pp * tp; }
  // Ranks that one layer's experts are spread over. vLLM has no size of its own for it: experts go
  // over DP × TP, whole (expert parallel) or sliced (without).
  int64_t expert_ranks() const { return dp * tp; }
  int64_t ep() const { return expert_size.value_or(expert_parallel ? expert_ranks() : 1); }
};

// Layers [first, first + count) on one pipeline stage.
struct StageRange {
  int64_t first = 0;
  int64_t count = 0;

  int64_t end() const { return first + count; }
  friend bool operator==(const StageRange&, const StageRange&) = default;
};

// vLLM's default split: ceil for nobody, the remainder one layer each to stages PP-2, PP-3, …, so
// that the last stage, which also has the head, stays light. 93 over 2 is 47, 46; 61 over 4 is
// 15, 15, 16, 15. Source: vllm/distributed/utils.py:get_pp_indices (v0.28).
std::vector<StageRange> DefaultPartition(int64_t layers, int64_t stages);

// A partition as VLLM_PP_LAYER_PARTITION gives it: "48,45". Fails with kUsage when it is no list of
// positive integers (vLLM itself would take zeros and negatives, and then build an empty stage).
Result<std::vector<int64_t>> ParsePartition(std::string_view text);

// "48,45"
std::string FormatPartition(const std::vector<StageRange>& stages);

// Turns layer counts into ranges. Requires the counts to have been checked.
std::vector<StageRange> PartitionFrom(const std::vector<int64_t>& counts);

// Where one rank sits. All numbers count from zero; `gpu` is the index inside its node.
struct RankPlace {
  int64_t rank = 0;
  int64_t node = 0;
  int64_t gpu = 0;
  int64_t stage = 0;
  int64_t tp_rank = 0;
  int64_t dp_rank = 0;
  int64_t ep_rank = 0;  // dp_rank × tp + tp_rank with expert parallel, else 0
};

// rank = (dp_rank × pp + stage) × tp + tp_rank, and ranks fill nodes in order.
std::vector<RankPlace> PlaceRanks(const ParallelSizes& sizes, int64_t gpus_per_node);

}  // namespace shardplan

#endif  // SHARDPLAN_LAYOUT_LAYOUT_H_
