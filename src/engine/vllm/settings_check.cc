#include "engine/vllm/settings_check.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "engine/vllm/batch_defaults.h"
#include "engine/vllm/eplb.h"
#include "engine/vllm/lora.h"
#include "shardplan/base/units.h"

namespace shardplan::vllm {
namespace {

Status CheckRange(const char* flag, std::optional<int64_t> value) {
  // Far above any real value, and low enough that no product of two of them leaves 64 bits.
  constexpr int64_t kHighest = int64_t{1} << 31;
  if (value && (*value < 1 || *value > kHighest)) {
    return Fail(ErrorCode::kUsage, fmt::format("{} {}", flag, *value),
                fmt::format("expected a number from 1 to {}", FormatCount(kHighest)));
  }
  return {};
}

// Sequences that were left out never make a batch too small: their default is cut to its tokens.
std::optional<Finding> CheckGivenBatch(const EngineSettings& s) {
  if (!s.max_num_batched_tokens) return std::nullopt;
  const BatchLimits limits = {*s.max_num_batched_tokens, s.max_num_seqs.value_or(1)};
  const BatchFlags flags = {s.max_num_seqs, s.max_num_batched_tokens, s.max_model_len.value_or(0),
                            s.enable_chunked_prefill.value_or(true), PerformanceMode::kBalanced};
  return CheckBatch(limits, flags);
}

}  // namespace

Status CheckNumbers(const EngineSettings& s) {
  SHARDPLAN_RETURN_IF_ERROR(CheckRange("--max-model-len", s.max_model_len));
  SHARDPLAN_RETURN_IF_ERROR(CheckRange("--max-num-seqs", s.max_num_seqs));
  SHARDPLAN_RETURN_IF_ERROR(CheckRange("--max-num-batched-tokens", s.max_num_batched_tokens));
  SHARDPLAN_RETURN_IF_ERROR(CheckRange("--num-gpu-blocks-override", s.num_gpu_blocks_override));
  const double share = s.gpu_memory_utilization.value_or(1);
  if (share > 0 && share <= 1) return {};
  return Fail(ErrorCode::kUsage, fmt::format("--gpu-memory-utilization {}", share),
              "expected a number above 0 and at most 1");
}

std::optional<Finding> DcpRefusal(const ParallelSizes& sizes) {
  if (sizes.dcp < 1 || sizes.tp % sizes.dcp == 0) return std::nullopt;
  return Finding{"layout.dcp", Severity::kError,
                 fmt::format("--decode-context-parallel-size {}", sizes.dcp),
                 fmt::format("tp_size={} must be divisible by dcp_size={}.", sizes.tp, sizes.dcp),
                 "choose a divisor of the tensor-parallel size"};
}

std::vector<Finding> CheckSettings(const ParallelSizes& sizes, const EngineSettings& settings) {
  std::vector<Finding> findings = CheckLoraFlags(sizes, settings);
  for (std::optional<Finding> refusal :
       {DcpRefusal(sizes), EplbRefusal(sizes, settings), CheckGivenBatch(settings)}) {
    if (refusal) findings.push_back(*std::move(refusal));
  }
  return findings;
}

}  // namespace shardplan::vllm
