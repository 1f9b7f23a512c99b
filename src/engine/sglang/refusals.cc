#include "engine/sglang/refusals.h"

#include <fmt/format.h>

#include <cmath>

namespace shardplan::sglang {

std::string FormatPython(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".einf") == std::string::npos) text += ".0";
  return text;
}

double SuggestedFraction(double minimum) { return std::ceil(minimum * 1000) / 1000; }

std::string NoKvMemoryText(KvRefusal form, double fraction, double minimum) {
  if (form == KvRefusal::kNotEnoughMemory) {
    return fmt::format(
        "Not enough memory. Please try to increase --mem-fraction-static. Current value: "
        "self.server_args.mem_fraction_static={}",
        FormatPython(fraction));
  }
  return fmt::format(
      "Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static={}. Raise "
      "--mem-fraction-static above {:.3f} (minimum viable = 1 - available/pre = {:.4f}). If using "
      "speculative decoding, draft weights are now counted.",
      FormatPython(fraction), SuggestedFraction(minimum), minimum);
}

std::string NoTokensText(double fraction) {
  return fmt::format(
      "Not enough memory. Please try to increase --mem-fraction-static. Current value: "
      "mem_fraction_static={}",
      FormatPython(fraction));
}

std::string NoStateSlotsText(const StatePool& pool, double rest_gib, Bytes slot) {
  return fmt::format(
      "Not enough GPU memory for hybrid (mamba/linear-attention) state cache. Computed "
      "max_mamba_cache_size={} (total_rest_memory={:.2f} GB, mamba_cache_per_req={:.2f} MB). Try: "
      "(1) reduce --max-running-requests, (2) increase --mem-fraction-static, (3) reduce "
      "--speculative-num-draft-tokens, or (4) use GPUs with more memory.",
      pool.slots, rest_gib, static_cast<double>(slot.count()) / (1 << 20));
}

std::string NoRequestsText(const StatePool& pool) {
  return fmt::format(
      "Hybrid (mamba/linear-attention) state cache is too small to serve any requests. "
      "max_mamba_cache_size={}, mamba_ratio={}, resulting max_num_reqs={}. Try: (1) reduce "
      "--max-running-requests, (2) increase --mem-fraction-static, or (3) use GPUs with more "
      "memory.",
      pool.slots, pool.slots_per_request, pool.requests);
}

std::string SmallWindowPoolText(int64_t tokens, int64_t window, int64_t page) {
  return fmt::format(
      "SWA pool ({} tokens) cannot hold even one request: the prefill admission floor is "
      "sliding_window_size ({}) + page_size ({}). Increase --swa-full-tokens-ratio or the total KV "
      "budget.",
      tokens, window, page);
}

std::string WindowCapText(int64_t window_tokens, double window_gib, double available_gib) {
  return fmt::format(
      "SWA pool cap ({} tokens, {:.2f} GiB) leaves no room for the full KV pool within the "
      "available {:.2f} GiB. Reduce --max-running-requests, lower SGLANG_SWA_EVICTION_INTERVAL, or "
      "increase --mem-fraction-static.",
      window_tokens, window_gib, available_gib);
}

}  // namespace shardplan::sglang
