// How many requests and tokens a batch has where nobody says.
#ifndef SHARDPLAN_ENGINE_VLLM_BATCH_DEFAULTS_H_
#define SHARDPLAN_ENGINE_VLLM_BATCH_DEFAULTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/vllm/profile.h"
#include "shardplan/base/bytes.h"
#include "shardplan/base/finding.h"
#include "shardplan/base/result.h"

namespace shardplan::vllm {

// Who makes the engine: the API server's batches are smaller than those of the offline class.
enum class UsageContext { kApiServer, kLlmClass };

enum class PerformanceMode { kBalanced, kInteractivity, kThroughput };

// Fails with kUsage for another name; nothing given is balanced.
Result<PerformanceMode> ParsePerformanceMode(const std::optional<std::string>& name);

struct BatchLimits {
  int64_t max_num_batched_tokens = 0;
  int64_t max_num_seqs = 0;

  friend bool operator==(const BatchLimits&, const BatchLimits&) = default;
};

// The table by card, before anything caps it. `total` is NVML's, not CUDA's; `name` is NVML's name,
// of which "A100" in any case counts. Source: vllm/engine/arg_utils.py:get_batch_defaults
// (d29f7f5c).
BatchLimits DefaultsForCard(Bytes total, std::string_view name, const Profile& profile,
                            UsageContext usage = UsageContext::kApiServer);

// What the flags say of a batch.
struct BatchFlags {
  std::optional<int64_t> max_num_seqs;
  std::optional<int64_t> max_num_batched_tokens;
  int64_t max_model_len = 0;
  bool chunked_prefill = true;
  PerformanceMode mode = PerformanceMode::kBalanced;
};

// Fills in what was not given. A default of tokens is no more than the sequences can fill and,
// without chunked prefill, no less than the window; one of sequences is no more than the tokens.
// Source: vllm/engine/arg_utils.py:_set_default_max_num_seqs_and_batched_tokens_args (d29f7f5c).
BatchLimits LimitBatch(BatchLimits defaults, const BatchFlags& flags);

// Why vLLM does not accept these limits, in its words; nothing where it does.
// Source: vllm/config/scheduler.py:verify_max_model_len (d29f7f5c).
std::optional<std::string> BatchRefusal(const BatchLimits& limits, const BatchFlags& flags);

// The same as the finding engine.batched_tokens (error), with what mends it.
std::optional<Finding> CheckBatch(const BatchLimits& limits, const BatchFlags& flags);

}  // namespace shardplan::vllm

#endif  // SHARDPLAN_ENGINE_VLLM_BATCH_DEFAULTS_H_
