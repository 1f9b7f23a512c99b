#include "plan/offload_notes.h"

#include <fmt/format.h>

#include "engine/vllm/prefetch.h"
#include "engine/vllm/weights.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

// Options of an offload that cannot happen.
void NoteIdleOffload(const EngineSettings& s, std::vector<Finding>* out) {
  const auto nothing = [&](const char* flag, std::string message, const char* fix) {
    out->push_back({"offload.nothing", Severity::kWarning, flag, std::move(message), fix});
  };
  if (!s.cpu_offload_params.empty()) {
    nothing("--cpu-offload-params", "names parameters, but nothing moves without --cpu-offload-gb",
            "give the GiB a card, such as --cpu-offload-gb 32");
  }
  if (!s.offload_params.empty()) {
    nothing("--offload-params", "names parameters, but nothing moves without --offload-group-size",
            "give a group of layers, such as --offload-group-size 8");
  }
}

// The engine's line for the first stage, and a pool that eats what it frees.
void NotePrefetch(const Prepared& p, std::vector<Finding>* out) {
  const DeviceWeights weights =
      ComputeDeviceWeights(*p.context.arch, *p.table, vllm::RulesFor(p.context, 0));
  const vllm::Offload offload =
      vllm::WalkPrefetch(weights, p.context.stages.front(), p.context.settings);
  if (offload.layers == 0) return;
  out->push_back({"offload.prefetch", Severity::kNote, "stage 0",
                  "vLLM will say: " + vllm::PrefetchLog(offload, p.context.settings), ""});
  if (offload.pool < offload.bytes) return;
  out->push_back(
      {"offload.pool", Severity::kWarning,
       fmt::format("--offload-prefetch-step {}", p.context.settings.offload_prefetch_step),
       fmt::format("the buffers on the card ({}) take what offloading frees ({})",
                   FormatGiB(offload.pool, 2), FormatGiB(offload.bytes, 2)),
       "fewer buffers, or more layers of each group"});
}

}  // namespace

void NoteOffload(const Prepared& p, const Plan& plan, std::vector<Finding>* out) {
  const EngineSettings& s = p.context.settings;
  const vllm::OffloadBackend backend = vllm::ChosenOffload(s);
  if (backend == vllm::OffloadBackend::kNone) return NoteIdleOffload(s, out);
  Bytes payload, pinned;
  for (const RankPlan& rank : plan.ranks) {
    payload += rank.offloaded;
    pinned += rank.pinned_allocated;
  }
  const bool prefetch = backend == vllm::OffloadBackend::kPrefetch;
  if (payload == Bytes()) {
    const bool named = !(prefetch ? s.offload_params : s.cpu_offload_params).empty();
    out->push_back({"offload.nothing", Severity::kWarning,
                    !prefetch ? "--cpu-offload-params"
                    : named   ? "--offload-params"
                              : "--offload-group-size",
                    prefetch && !named
                        ? "is longer than the stages: no layer is offloaded"
                        : "matches no parameter of the decoder layers: nothing is offloaded",
                    prefetch && !named ? "choose a group of fewer layers"
                                       : "names are whole dotted segments, such as "
                                         "w13_weight,w2_weight"});
    return;
  }
  if (prefetch) NotePrefetch(p, out);
  out->push_back(
      {"offload.pinned_rounding", Severity::kNote, "host memory",
       fmt::format("{} of offloaded weights take {} of pinned memory over all nodes: the allocator "
                   "rounds each tensor up to a power of two",
                   FormatGiB(payload, 2), FormatGiB(pinned, 2)),
       "size nodes and container limits (memlock, cgroup) for the larger number"});
}

}  // namespace shardplan
