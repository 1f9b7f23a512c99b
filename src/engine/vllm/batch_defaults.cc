#include "engine/vllm/batch_defaults.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan::vllm {
namespace {

bool IsA100(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower.find("a100") != std::string::npos;
}

}  // namespace

Result<PerformanceMode> ParsePerformanceMode(const std::optional<std::string>& name) {
  const std::string text = name.value_or("balanced");
  if (text == "balanced") return PerformanceMode::kBalanced;
  if (text == "interactivity") return PerformanceMode::kInteractivity;
  if (text == "throughput") return PerformanceMode::kThroughput;
  return Fail(ErrorCode::kUsage, "--performance-mode " + Printable(text),
              "expected balanced, interactivity or throughput");
}

BatchLimits DefaultsForCard(Bytes total, std::string_view name, const Profile& profile,
                            UsageContext usage) {
  const bool offline = usage == UsageContext::kLlmClass;
  if (profile.largest_card_gib > 0 && total >= Bytes(profile.largest_card_gib * kGiB)) {
    return {16384, 1024};
  }
  if (total >= Bytes(70 * kGiB) && !IsA100(name)) {
    return {offline ? 16384 : 8192, profile.large_card_sequences};
  }
  return {offline ? 8192 : 2048, 256};
}

BatchLimits LimitBatch(BatchLimits defaults, const BatchFlags& flags) {
  if (flags.mode == PerformanceMode::kThroughput) {
    defaults.max_num_batched_tokens *= 2;
    defaults.max_num_seqs *= 2;
  }
  BatchLimits limits;
  limits.max_num_seqs = flags.max_num_seqs.value_or(defaults.max_num_seqs);
  if (flags.max_num_batched_tokens) {
    limits.max_num_batched_tokens = *flags.max_num_batched_tokens;
  } else {
    limits.max_num_batched_tokens = defaults.max_num_batched_tokens;
    if (!flags.chunked_prefill) {
      limits.max_num_batched_tokens = std::max(limits.max_num_batched_tokens, flags.max_model_len);
    }
    limits.max_num_batched_tokens =
        std::min(limits.max_num_batched_tokens,
                 internal::CheckedMul(limits.max_num_seqs, flags.max_model_len));
  }
  if (!flags.max_num_seqs) {
    limits.max_num_seqs = std::min(limits.max_num_seqs, limits.max_num_batched_tokens);
  }
  return limits;
}

std::optional<std::string> BatchRefusal(const BatchLimits& limits, const BatchFlags& flags) {
  if (!flags.chunked_prefill && limits.max_num_batched_tokens < flags.max_model_len) {
    return fmt::format(
        "max_num_batched_tokens ({}) is smaller than max_model_len ({}). This effectively limits "
        "the maximum sequence length to max_num_batched_tokens and makes vLLM reject longer "
        "sequences. Please increase max_num_batched_tokens or decrease max_model_len.",
        limits.max_num_batched_tokens, flags.max_model_len);
  }
  if (limits.max_num_batched_tokens < limits.max_num_seqs) {
    return fmt::format(
        "max_num_batched_tokens ({}) must be greater than or equal to max_num_seqs ({}).",
        limits.max_num_batched_tokens, limits.max_num_seqs);
  }
  return std::nullopt;
}

std::optional<Finding> CheckBatch(const BatchLimits& limits, const BatchFlags& flags) {
  std::optional<std::string> refusal = BatchRefusal(limits, flags);
  if (!refusal) return std::nullopt;
  const bool window = !flags.chunked_prefill && limits.max_num_batched_tokens < flags.max_model_len;
  return Finding{
      "engine.batched_tokens", Severity::kError,
      fmt::format("--max-num-batched-tokens {}", limits.max_num_batched_tokens),
      *std::move(refusal),
      window ? fmt::format("--max-num-batched-tokens {}, or chunked prefill", flags.max_model_len)
             : fmt::format("--max-num-seqs {}", limits.max_num_batched_tokens)};
}

}  // namespace shardplan::vllm
