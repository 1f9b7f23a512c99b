#include "engine/vllm/refusals.h"

#include <fmt/format.h>

#include "shardplan/base/units.h"

namespace shardplan::vllm {

std::string FormatGib(Bytes bytes) {
  // Python rounds an exact half to the even neighbour: 1.125 GiB is "1.12".
  const bool negative = bytes < Bytes();
  const Bytes scaled = (negative ? -bytes : bytes) * 100;
  int64_t hundredths = scaled.count() / kGiB;
  const int64_t rest = scaled.count() % kGiB;
  if (2 * rest > kGiB || (2 * rest == kGiB && hundredths % 2 == 1)) ++hundredths;
  // Two decimals at most, one at least.
  std::string text = fmt::format("{}.{:02}", hundredths / 100, hundredths % 100);
  if (text.ends_with('0')) text.pop_back();
  return negative ? "-" + text : text;
}

std::string NoKvMemoryText() {
  return "No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when "
         "initializing the engine";
}

std::optional<std::string> WindowRefusal(const KvLayout& layout, size_t stage, Bytes available,
                                         int64_t max_model_len, bool null_block_reserved) {
  if (layout.admission_block[stage] <= Bytes()) return std::nullopt;  // caches nothing
  const Bytes usable = null_block_reserved ? available - layout.bytes_per_block[stage] : available;
  if (usable <= Bytes()) return NoKvMemoryText();
  const Bytes needed = NeededBytes(layout, stage, max_model_len, 1, /*null_block_reserved=*/false);
  if (needed <= usable) return std::nullopt;
  std::string text = fmt::format(
      "To serve at least one request with the model's max seq len ({}), ({} GiB KV cache is "
      "needed, "
      "which is larger than the available KV cache memory ({} GiB).",
      max_model_len, FormatGib(needed), FormatGib(usable));
  const int64_t longest =
      LargestWindowOn(layout, stage, available, max_model_len, null_block_reserved);
  if (longest > 0) {
    text += fmt::format(" Based on the available memory, the estimated maximum model length is {}.",
                        longest);
  }
  return text;
}

std::string NoWindowText() {
  return "Cannot auto-fit max_model_len: not enough GPU memory available to serve even a single "
         "token. Try increasing `gpu_memory_utilization`.";
}

std::string FreeMemoryText(int64_t device, Bytes free, Bytes total, double utilization,
                           Bytes requested) {
  return fmt::format(
      "Free memory on device cuda:{} ({}/{} GiB) on startup is less than desired GPU memory "
      "utilization ({}, {} GiB). Decrease GPU memory utilization or reduce GPU memory used by "
      "other "
      "processes.",
      device, FormatGib(free), FormatGib(total), utilization, FormatGib(requested));
}

bool GraphsNeedMoreBlocks(const Context& context, int64_t num_blocks) {
  return context.arch->has_state() && HasFullGraphs(context.resolved.graph_mode) &&
         num_blocks > 0 && context.resolved.max_num_seqs > num_blocks;
}

std::string StateBlocksText(int64_t max_num_seqs, int64_t blocks) {
  return fmt::format(
      "max_num_seqs ({}) exceeds available Mamba cache blocks ({}). Each decode sequence requires "
      "one Mamba cache block, so CUDA graph capture cannot proceed. Please lower max_num_seqs to "
      "at "
      "most {} or increase gpu_memory_utilization.",
      max_num_seqs, blocks, blocks);
}

}  // namespace shardplan::vllm
