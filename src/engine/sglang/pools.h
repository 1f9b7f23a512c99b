// From free memory to tokens: what SGLang prints as max_total_num_tokens and max_running_requests.
#ifndef SHARDPLAN_ENGINE_SGLANG_POOLS_H_
#define SHARDPLAN_ENGINE_SGLANG_POOLS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/sglang/cell.h"
#include "engine/sglang/context.h"
#include "engine/sglang/defaults.h"
#include "engine/sglang/state_pool.h"
#include "shardplan/base/finding.h"

namespace shardplan::sglang {

// Free memory as SGLang measures it, in GiB, the minimum over all ranks of all stages: after
// torch.distributed is up and before the weights, and after target and draft are loaded.
struct FreeMemory {
  double before_gib = 0;
  double after_gib = 0;
};

struct Pools {
  double slack_gib = 0;         // before × (1 − fraction): graphs, activations, workspaces
  double multimodal_gib = 0;    // set aside for embeddings of images
  double rest_gib = 0;          // after − slack − multimodal
  double minimum_fraction = 0;  // 1 − after ÷ before

  std::optional<StatePool> states;  // of models that keep states
  StateSlot slot;

  double kv_gib = 0;              // what tokens have
  double request_states_gib = 0;  // of it: what DeepSeek-V4 keeps of each request, on some stage
  KvFormat format;
  std::vector<TokenCell> cells;  // per stage
  std::vector<int64_t> stage_tokens;
  int64_t page_size = 1;
  int64_t tokens = 0;                // max_total_num_tokens of a rank, the minimum over stages
  int64_t window_tokens = 0;         // of the pool of layers with a window; 0: none
  int64_t logical_tokens = 0;        // tokens × DCP: what requests can hold
  int64_t max_running_requests = 0;  // of a DP rank

  // What SGLang would say instead, with the id of the finding: pool.kv, pool.tokens, pool.states,
  // pool.requests, pool.window.
  std::optional<Finding> refusal;

  // Bytes of the pool on a rank of `stage`, with the page that is allocated beyond the tokens.
  Bytes KvBytes(size_t stage) const;
  // Of that page, which the fraction does not count.
  Bytes SparePage(size_t stage) const;
};

// Fails with kUsage for an unknown --kv-cache-dtype. A refusal is part of the answer, with as much
// of the rest as was known by then.
// Source: mem_cache/kv_cache_configurator.py _resolve_memory_pool_config (0bda0b168).
Result<Pools> SizePools(const Context& context, const Defaults& defaults,
                        const std::vector<StageRange>& stages, const FreeMemory& free);

// Tokens that `bytes` hold in a stage's cell, whole pages only.
int64_t TokensIn(const TokenCell& cell, int64_t page_size, double bytes);

// What SGLang allocates after the pools, out of the slack.
inline constexpr const char* kSparePage = "a page beyond the tokens";
struct SlackItem {
  std::string name;
  std::string rule;
  Bytes bytes;
};
// The table of requests, workspaces of the attention backend, symmetric memory, and what a decoding
// server keeps for requests on their way. Graphs and activations are not among them.
std::vector<SlackItem> SlackItems(const Context& context, const Defaults& defaults,
                                  const Pools& pools);

}  // namespace shardplan::sglang

#endif  // SHARDPLAN_ENGINE_SGLANG_POOLS_H_
