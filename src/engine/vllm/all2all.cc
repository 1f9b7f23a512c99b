#include "engine/vllm/all2all.h"

#include <algorithm>
#include <array>
#include <vector>

#include "engine/vllm/weights.h"
#include "shardplan/base/file.h"
#include "shardplan/base/suggest.h"
#include "shardplan/base/units.h"

namespace shardplan::vllm {
namespace {

// VLLM_DEEPEP_BUFFER_SIZE_MB, as the engine has it by default.
constexpr Bytes kDeepEpBuffer(1024 * kMiB);

const std::vector<std::string>& Backends() {
  static const std::vector<std::string> names = {"allgather_reducescatter",
                                                 "deepep_high_throughput",
                                                 "deepep_low_latency",
                                                 "deepep_v2",
                                                 "flashinfer_all2allv",
                                                 "flashinfer_nvlink_one_sided",
                                                 "flashinfer_nvlink_two_sided",
                                                 "mori_high_throughput",
                                                 "mori_low_latency",
                                                 "naive",
                                                 "nixl_ep",
                                                 "pplx"};
  return names;
}

// Low-latency DeepEP: two send, receive and signal buffers, for messages of every expert from every
// rank's batch. Source: deepseek-ai/DeepEP csrc/config.hpp:LowLatencyLayout (030cdf0a).
Bytes LowLatencyBuffer(int64_t tokens, int64_t width, int64_t experts, int64_t local_experts) {
  const int64_t scales = width / 128;
  const int64_t dispatch = 16 + std::max(2 * width, width + 4 * scales);
  const int64_t combine = 4 * scales + 2 * width;
  const Bytes send = Bytes(std::max(dispatch, experts * combine)) * tokens;
  const Bytes receive = Bytes(experts * std::max(dispatch, combine)) * tokens;
  const int64_t signals = RoundUp(8 * experts + 4 * local_experts, 128);
  constexpr int64_t kAlignment = 128;
  const Bytes total = (send + receive + Bytes(signals)) * 2;
  return Bytes((total.count() + kAlignment) / kAlignment * kAlignment);
}

}  // namespace

Result<std::string> ResolveAll2All(const std::optional<std::string>& given) {
  const std::string name = given.value_or("allgather_reducescatter");
  const std::vector<std::string>& names = Backends();
  if (std::find(names.begin(), names.end(), name) != names.end()) return name;
  const std::vector<std::string> close = CloseNames(name, names);
  return Fail(ErrorCode::kUsage, "--all2all-backend " + Printable(name),
              "expected one of " + JoinWithOr(names),
              close.empty() ? "" : "did you mean " + JoinWithOr(close) + "?");
}

bool UsesAll2All(const ParallelSizes& sizes) { return sizes.expert_parallel && sizes.dp > 1; }

bool TakesBatches(std::string_view backend, const ParallelSizes& sizes) {
  return UsesAll2All(sizes) && (backend == "deepep_low_latency" || backend == "nixl_ep");
}

int64_t BatchedTokens(const Context& c) {
  const int64_t chunk = c.profile->moe_dp_chunk_tokens;
  const int64_t tokens = c.resolved.max_num_batched_tokens;
  return chunk > 0 ? std::min(chunk, tokens) : tokens;
}

bool SplitsSequences(std::string_view backend) {
  return !backend.starts_with("flashinfer") && backend != "pplx" && backend != "deepep_v2";
}

bool CanSliceShared(const Context& c) {
  const int64_t tp = c.sizes.tp;
  return IsKimiClass(*c.arch) && c.profile->can_slice_shared && c.gpu->vendor != "amd" &&
         c.arch->hidden % tp == 0 && c.arch->moe.shared_intermediate % tp == 0 &&
         c.arch->dense_intermediate % tp == 0;
}

bool SlicesShared(const Context& c) {
  return CanSliceShared(c) &&
         std::any_of(c.settings.env.begin(), c.settings.env.end(), [](const OptionValue& variable) {
           return variable.first == kSliceSharedVariable && variable.second != "0";
         });
}

int64_t RoundedWidth(std::string_view backend, const ParallelSizes& sizes, int64_t width) {
  if (!UsesAll2All(sizes)) return width;
  if (backend == "deepep_high_throughput" || backend == "deepep_v2") return RoundUp(width, 256);
  if (!TakesBatches(backend, sizes)) return width;
  constexpr std::array<int64_t, 8> kWidths = {2048, 2560, 3072, 4096, 5120, 6144, 7168, 8192};
  const auto it = std::lower_bound(kWidths.begin(), kWidths.end(), width);
  return it == kWidths.end() ? width : *it;
}

All2AllBuffers MakeAll2AllBuffers(const Context& c) {
  All2AllBuffers buffers;
  const std::string& backend = c.resolved.all2all_backend;
  if (!UsesAll2All(c.sizes) || !backend.starts_with("deepep")) return buffers;
  buffers.nvlink = kDeepEpBuffer;
  buffers.source =
      "DeepEP's buffers: VLLM_DEEPEP_BUFFER_SIZE_MB = 1,024 "
      "(vllm/distributed/device_communicators/all2all.py)";
  if (backend == "deepep_low_latency") {
    const ShardingRules rules = RulesFor(c, 0);
    buffers.network = LowLatencyBuffer(BatchedTokens(c), rules.expert_width, c.arch->moe.experts,
                                       rules.local_experts);
    buffers.source += ", messages of a batch to every expert (DeepEP csrc/config.hpp)";
  } else if (c.experts_span_nodes) {
    buffers.network = kDeepEpBuffer;
  }
  return buffers;
}

}  // namespace shardplan::vllm
