// What runs in the memory that --mem-fraction-static leaves free: graphs, activations,
// communicators. SGLang reserves for them by rules of thumb and measures none of it.
#ifndef SHARDPLAN_ENGINE_SGLANG_SLACK_H_
#define SHARDPLAN_ENGINE_SGLANG_SLACK_H_

#include <string>
#include <vector>

#include "engine/sglang/context.h"
#include "engine/sglang/defaults.h"
#include "shardplan/base/basis.h"
#include "shardplan/ledger/ledger.h"

namespace shardplan::sglang {

struct Estimate {
  Range bytes;
  std::string source;
  std::vector<Part> parts;  // sum to the central bytes
};

// Tensors of one forward pass of prefill, from shapes: what every layer carries, and the largest of
// attention, MLP, experts and logits. `requests` is max_running_requests. Two thirds of it at the
// low end (buffers that are reused), twice at the high one (fragments, kernels' own workspaces).
Estimate EstimateActivations(const Context& context, const Defaults& defaults,
                             const StageRange& stage, int64_t requests);

inline constexpr const char* kDecodeGraphs = "decode graphs";
// Graphs of a stage by their number and layers; sizes above max_running_requests are not captured.
Estimate EstimateGraphs(const Context& context, const Defaults& defaults, const StageRange& stage,
                        int64_t requests);

// Of one rank among `ranks`: what is gone before the weights are loaded beside the CUDA context,
// and communicators that are made later.
Estimate GoneBeforeLoad(const Context& context, int64_t ranks);
Estimate CommunicationLater(const Context& context, int64_t ranks);

// Buffers of the all-to-all that experts are exchanged through: what SGLang reserves for DeepEP;
// of MegaMoE one row of every choice and token, in 8 bits and back in 16. No log shows either.
Estimate AllToAllBuffers(const Context& context, const Defaults& defaults);

}  // namespace shardplan::sglang

#endif  // SHARDPLAN_ENGINE_SGLANG_SLACK_H_
