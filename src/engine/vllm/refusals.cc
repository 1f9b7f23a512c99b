#include "engine/vllm/refusals.h"

#include <fmt/format.h>

#include <cmath>

#include "shardplan/base/units.h"

namespace shardplan::vllm {

std::string FormatGib(Bytes bytes) {
  // Two decimals at most, one at least.
  std::string text = fmt::format("{:.2f}", std::round(InGiB(bytes).value() * 100.0) / 100.0);
  if (text.ends_with('0')) text.pop_back();
  return text;
}

std::string NoKvMemoryText() {
  return "No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when "
         "initializing the engine";
}

std::optional<std::string> WindowRefusal(const KvLayout& layout, size_t stage, Bytes available,
                                         int64_t max_model_len, bool null_block_reserved) {
  const Bytes block = layout.bytes_per_block[stage];
  const Bytes usable = null_block_reserved ? available - block : available;
  const Bytes needed = block * layout.BlocksPerRequest(max_model_len);
  if (needed <= usable) return std::nullopt;
  std::string text = fmt::format(
      "To serve at least one request with the model's max seq len ({}), ({} GiB KV cache is "
      "needed, "
      "which is larger than the available KV cache memory ({} GiB).",
      max_model_len, FormatGib(needed), FormatGib(usable));
  KvLayout alone = layout;
  alone.bytes_per_block = {block};
  const int64_t longest = LargestWindow(alone, {available}, max_model_len, null_block_reserved);
  if (longest > 0) {
    text += fmt::format(" Based on the available memory, the estimated maximum model length is {}.",
                        longest);
  }
  return text;
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
  return context.arch->has_kind(AttentionKind::kKda) && !context.settings.enforce_eager &&
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
