// What is on a card only while the model is loaded.
#ifndef SHARDPLAN_PLAN_LOAD_PEAK_H_
#define SHARDPLAN_PLAN_LOAD_PEAK_H_

#include <string>

#include "engine/vllm/offload.h"
#include "plan/prepare.h"
#include "shardplan/base/basis.h"

namespace shardplan {

// The largest of what lies beside the resident weights for a moment: these follow one another.
struct LoadTransient {
  Range bytes;
  std::string reason;  // "a whole shard file of … is staged on the card"
  std::string help;    // what makes it smaller; may be empty
};

// Candidates: a shard file that fastsafetensors stages whole on the card, an offloaded layer that
// comes back to be processed, a parameter that is repacked for its kernel. Plain loading reads
// through host memory and adds nothing.
LoadTransient LargestTransient(const Prepared& prepared, const Model& model,
                               const DeviceWeights& weights, int64_t stage,
                               const vllm::Offload& offload);

// --load-format; fails with kUsage for a name vLLM does not know.
Status CheckLoadFormat(const EngineSettings& settings);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_LOAD_PEAK_H_
