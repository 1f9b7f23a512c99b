#include "engine/vllm/eplb.h"

#include <fmt/format.h>

#include <utility>

#include "model/config_reader.h"
#include "shardplan/base/units.h"

namespace shardplan::vllm {
namespace {

constexpr int64_t kMostExperts = 100'000;

// Experts in these formats have methods that hand their weights out.
bool CanMove(const std::string& quantization) {
  return quantization.empty() || quantization == "fp8" || quantization == "nvfp4";
}

Finding Refused(std::string message, std::string fix) {
  return {"layout.eplb", Severity::kError, "--enable-eplb", std::move(message), std::move(fix)};
}

}  // namespace

Status ReadEplbConfig(const std::string& json, EngineSettings* settings) {
  const auto unusable = [](std::string message) {
    return Fail(ErrorCode::kUsage, "--eplb-config", std::move(message));
  };
  const Result<nlohmann::json> object = ParseConfigObject(json, "--eplb-config");
  if (!object) return unusable(object.error().message);
  ConfigReader reader(*object, "--eplb-config");
  settings->redundant_experts =
      reader.IntOr("num_redundant_experts", 0, kMostExperts, settings->redundant_experts);
  settings->eplb_window = reader.IntOr("window_size", 1, 1'000'000, settings->eplb_window);
  if (!reader.ok()) return unusable(reader.error().message);
  return {};
}

int64_t PhysicalExperts(const Context& c) {
  return c.arch->moe.experts + (c.settings.enable_eplb ? c.settings.redundant_experts : 0);
}

std::optional<Finding> EplbRefusal(const ParallelSizes& sizes, const EngineSettings& s) {
  if (!s.enable_eplb) {
    if (s.redundant_experts == 0) return std::nullopt;
    return Refused(
        fmt::format("num_redundant_experts is set to {} but EPLB is not enabled. Either enable "
                    "EPLB or unset num_redundant_experts.",
                    s.redundant_experts),
        "--enable-eplb");
  }
  if (!sizes.expert_parallel) {
    return Refused("enable_expert_parallel must be True to use EPLB.", "--enable-expert-parallel");
  }
  if (sizes.tp * sizes.dp <= 1) {
    return Refused(fmt::format("EPLB requires tensor_parallel_size or data_parallel_size to be "
                               "greater than 1, but got TP={},DP={}.",
                               sizes.tp, sizes.dp),
                   "more ranks, or no balancing");
  }
  if (s.redundant_experts < 0 || s.redundant_experts > kMostExperts) {
    return Refused(
        fmt::format("{} redundant experts: expected at most {}", s.redundant_experts, kMostExperts),
        "a few for each rank");
  }
  return std::nullopt;
}

std::vector<Finding> CheckEplb(const Context& c) {
  std::vector<Finding> findings;
  const EngineSettings& s = c.settings;
  if (s.enable_eplb && c.arch->moe.experts == 0) {
    findings.push_back({"layout.no_experts", Severity::kNote, "--enable-eplb",
                        "has no effect: this model has no routed experts", ""});
  }
  if (auto refusal = EplbRefusal(c.sizes, s)) {
    findings.push_back(*std::move(refusal));
    return findings;
  }
  if (!s.enable_eplb || c.arch->moe.experts == 0) return findings;
  const int64_t ep = c.sizes.ep();
  const int64_t physical = PhysicalExperts(c);
  if (physical % ep != 0) {
    const int64_t more = s.redundant_experts + (RoundUp(physical, ep) - physical);
    findings.push_back(
        Refused(fmt::format("EPLB currently only supports even distribution of experts across "
                            "ranks. ({} experts and {} redundant ones over {} ranks)",
                            c.arch->moe.experts, s.redundant_experts, ep),
                fmt::format("--redundant-experts {}", more)));
  }
  if (!CanMove(c.arch->quantization)) {
    findings.push_back(
        {"eplb.format", Severity::kWarning, "--enable-eplb",
         fmt::format("vLLM moves unquantized, FP8 and NVFP4 experts; in {} it may refuse with "
                     "'EPLB is not supported'",
                     c.arch->quantization),
         ""});
  }
  return findings;
}

std::vector<ExtraBytes> EplbBuffers(const Context& c, const StageRange& stage,
                                    const DeviceWeights& weights) {
  std::vector<ExtraBytes> out;
  if (!c.settings.enable_eplb) return out;
  int64_t layers = 0;
  Bytes one;  // of the first layer with experts
  for (int64_t layer = stage.first; layer < stage.end(); ++layer) {
    if (!c.arch->is_moe(layer)) continue;
    if (++layers > 1) continue;
    for (const DeviceParam& param : weights.layer(layer).params) {
      if (param.role == Role::kRoutedExpert) one += param.bytes;
    }
  }
  if (layers == 0) return out;
  const int64_t physical = PhysicalExperts(c);
  out.push_back({"EPLB transfer buffer", one, "one layer's experts of a rank",
                 "vllm/distributed/eplb/eplb_state.py: expert_buffer (d29f7f5c)"});
  // The last batches and the present one.
  const int64_t counts = (c.settings.eplb_window + 1) * layers * physical * 4;
  out.push_back({"EPLB load window", Bytes(counts),
                 fmt::format("({} batches + 1) × {} MoE layers × {} experts × int32",
                             FormatCount(c.settings.eplb_window), layers, physical),
                 "vllm/distributed/eplb/eplb_state.py: expert_load_window (d29f7f5c)"});
  return out;
}

}  // namespace shardplan::vllm
