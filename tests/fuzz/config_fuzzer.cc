// Feeds bytes to the config reader and the families; what they accept must be usable.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "shardplan/layout/layout.h"
#include "shardplan/model/family.h"
#include "shardplan/sharding/device_weights.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace shardplan;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<ModelSpec> spec = BuildModelSpec(text, "fuzz");
  if (!spec) {
    const ErrorCode code = spec.error().code;
    Require(code == ErrorCode::kInvalidInput || code == ErrorCode::kUnsupported);
    Require(spec.error().ToString().find('\n') == std::string::npos);
    return 0;
  }
  Require(spec->arch.layers() > 0);
  Require(Totals(spec->table).tensors > 0);
  // Whatever a config says, one card can be accounted for or refused, never crashed on.
  ShardingRules rules;
  rules.expert_intermediate = spec->arch.moe.intermediate;
  rules.expert_width = spec->arch.moe.latent > 0 ? spec->arch.moe.latent : spec->arch.hidden;
  rules.local_experts = spec->arch.moe.experts;
  try {
    const DeviceWeights weights = ComputeDeviceWeights(spec->arch, spec->table, rules);
    const StageRange all{0, spec->arch.layers()};
    Require(weights.StageBytes(all, true, true) > Bytes());
  } catch (const SizeOverflow&) {
  }
  return 0;
}
