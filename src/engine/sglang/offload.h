// Weights in host memory: SGLang's two offloaders.
#ifndef SHARDPLAN_ENGINE_SGLANG_OFFLOAD_H_
#define SHARDPLAN_ENGINE_SGLANG_OFFLOAD_H_

#include <optional>
#include <vector>

#include "engine/sglang/context.h"
#include "shardplan/base/bytes.h"
#include "shardplan/base/finding.h"
#include "shardplan/sharding/device_weights.h"

namespace shardplan::sglang {

struct Offload {
  Bytes bytes;    // of parameters that live in the host
  Bytes pinned;   // what the pinned allocator takes: each tensor rounded up to a power of two
  Bytes on_card;  // copies on the card while layers run, outside the fraction
  int64_t layers = 0;
};

// What leaves the cards of one stage.
//
// --cpu-offload-gb takes parameters in module order, layer by layer, until so many GiB have gone;
// the last one overshoots. A layer's are copied to the card for each of its forward passes.
// --offload-group-size moves w13_weight and w2_weight of the last layers of every group, and only
// of models whose class tells what may move (DeepSeek's and those built on it); the copies of
// --offload-prefetch-step layers and of the running one are on the card.
// Source: utils/offloader.py OffloaderV1, OffloaderV2; models/deepseek_v2.py offloader_kwargs.
Offload OffloadOf(const Context& context, const DeviceWeights& weights, const StageRange& stage);

// Offload that no model can have, an error with its reason.
std::optional<Finding> OffloadRefusal(const ServerArgs& args);

// The same, and offload that this model cannot have: errors, each with its reason. They are the
// same in all releases that were read, 0.4.7 to 0.5.20.
std::vector<Finding> CheckOffload(const Context& context);

}  // namespace shardplan::sglang

#endif  // SHARDPLAN_ENGINE_SGLANG_OFFLOAD_H_
