// What the engine's budget has to share with torch: libraries, connections, CUDA graphs.
#ifndef SHARDPLAN_ENGINE_VLLM_OUTSIDE_TORCH_H_
#define SHARDPLAN_ENGINE_VLLM_OUTSIDE_TORCH_H_

#include <cstdint>
#include <string>

#include "engine/vllm/context.h"
#include "shardplan/base/basis.h"

namespace shardplan::vllm {

// What grows outside torch between the baseline and the end of the profile run.
struct OutsideTorch {
  Range library;        // modules, cuBLAS, kernel libraries' own workspaces
  Range communication;  // connection buffers and lazily made communicators
  std::string library_source;
  std::string communication_source;
};
OutsideTorch ComputeOutsideTorch(const Context& context);

// What the engine sets aside for CUDA graphs on a stage: zero with --enforce-eager.
struct GraphReserve {
  bool deducted = false;  // by this version and runner, or as VLLM_MEMORY_PROFILER_… says
  Range reserved;         // deducted from the budget; zero where it is not
  Range pool;             // what the captured graphs really hold
  int64_t piecewise = 0;
  int64_t full = 0;
};
GraphReserve ComputeGraphReserve(const Context& context, int64_t stage);

}  // namespace shardplan::vllm

#endif  // SHARDPLAN_ENGINE_VLLM_OUTSIDE_TORCH_H_
