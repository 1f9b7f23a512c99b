#include "engine/sglang/offload.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardplan::sglang {
namespace {

void Move(const DeviceParam& param, Offload* offload, Bytes* layer) {
  offload->bytes += param.bytes;
  offload->pinned += NextPowerOfTwo(param.bytes);
  *layer += param.bytes;
}

Offload ByModules(const DeviceWeights& weights, const StageRange& stage, Bytes budget) {
  Offload offload;
  for (int64_t layer = stage.first; layer < stage.end(); ++layer) {
    Bytes moved;
    for (const DeviceParam& param : weights.layer(layer).params) {
      if (offload.bytes >= budget) break;
      Move(param, &offload, &moved);
    }
    offload.layers += moved > Bytes();
    offload.on_card = std::max(offload.on_card, moved);
  }
  return offload;
}

bool IsExpertMatrix(const DeviceParam& param) {
  return param.role == Role::kRoutedExpert &&
         (param.name.ends_with("w13_weight") || param.name.ends_with("w2_weight"));
}

Offload ByGroups(const ServerArgs& a, const DeviceWeights& weights, const StageRange& stage) {
  Offload offload;
  Bytes largest;
  for (int64_t i = 0; i < stage.count; ++i) {
    if (i % a.offload_group_size < a.offload_group_size - a.offload_num_in_group) continue;
    Bytes moved;
    for (const DeviceParam& param : weights.layer(stage.first + i).params) {
      if (IsExpertMatrix(param)) Move(param, &offload, &moved);
    }
    offload.layers += moved > Bytes();
    largest = std::max(largest, moved);
  }
  offload.on_card = largest * std::min(a.offload_prefetch_step + 1, offload.layers);
  return offload;
}

// Models on DeepSeek's class: Kimi-K2 and GLM-5 among them.
bool TellsWhatMayMove(const Architecture& a) {
  return a.family == "deepseek-v3" || a.family == "deepseek-v3.2" || a.family == "kimi-k2.5" ||
         a.family == "glm-moe-dsa";
}

}  // namespace

Offload OffloadOf(const Context& c, const DeviceWeights& weights, const StageRange& stage) {
  if (c.args.cpu_offload_gb > 0) {
    return ByModules(weights, stage, Gibibytes(c.args.cpu_offload_gb).ToBytes());
  }
  if (c.args.offload_group_size > 0) return ByGroups(c.args, weights, stage);
  return {};
}

std::optional<Finding> OffloadRefusal(const ServerArgs& a) {
  if (a.cpu_offload_gb <= 0) return std::nullopt;
  const std::string by_modules = fmt::format("--cpu-offload-gb {}", a.cpu_offload_gb);
  if (a.offload_group_size > 0) {
    return Finding{"offload.conflict", Severity::kError, by_modules,
                   "SGLang would say: V2 offload does not support cpu_offload_gb yet",
                   "leave one of them out"};
  }
  const auto whole = static_cast<int64_t>(a.cpu_offload_gb);
  if (a.cpu_offload_gb == static_cast<double>(whole)) return std::nullopt;
  return Finding{"offload.whole", Severity::kError, by_modules,
                 "SGLang takes whole GiB: invalid int value",
                 fmt::format("--cpu-offload-gb {}", whole + 1)};
}

std::vector<Finding> CheckOffload(const Context& c) {
  const ServerArgs& a = c.args;
  if (auto refusal = OffloadRefusal(a)) return {*std::move(refusal)};
  std::vector<Finding> findings;
  const auto refuse = [&](const char* id, std::string subject, std::string message,
                          std::string fix) {
    findings.push_back(
        {id, Severity::kError, std::move(subject), std::move(message), std::move(fix)});
  };
  const std::string by_modules = fmt::format("--cpu-offload-gb {}", a.cpu_offload_gb);
  if (a.cpu_offload_gb > 0 && (c.arch->kda.heads > 0 || c.arch->gdn.k_heads > 0)) {
    refuse("offload.views", by_modules,
           "linear attention keeps views of its convolution weights that were taken before the "
           "offloader moved them: they stay on the card, never filled, and the answers are wrong",
           "more ranks or larger cards; vLLM's --offload-backend uva covers the experts");
  } else if (a.offload_group_size > 0 && !TellsWhatMayMove(*c.arch)) {
    refuse("offload.model", fmt::format("--offload-group-size {}", a.offload_group_size),
           fmt::format("{} passes no offloader_kwargs: SGLang ends with 'NoneType' object is not "
                       "callable while it builds the layers",
                       c.arch->name),
           "the V2 offloader covers the experts of DeepSeek's class only");
  }
  return findings;
}

}  // namespace shardplan::sglang
