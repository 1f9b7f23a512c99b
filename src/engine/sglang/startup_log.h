// What SGLang prints while it starts, as far as it is arithmetic.
#ifndef SHARDPLAN_ENGINE_SGLANG_STARTUP_LOG_H_
#define SHARDPLAN_ENGINE_SGLANG_STARTUP_LOG_H_

#include <string>
#include <vector>

#include "engine/sglang/context.h"
#include "engine/sglang/defaults.h"
#include "engine/sglang/pools.h"
#include "shardplan/base/bytes.h"

namespace shardplan::sglang {

// A rank of one stage on its way: free memory at each step.
struct StartupFacts {
  size_t stage = 0;
  StageRange layers;
  Bytes capacity;                       // what CUDA sees
  Bytes before_load;                    // free
  Bytes weights;                        // of the model itself
  Bytes draft;                          // loaded afterwards
  Bytes decode_graphs, prefill_graphs;  // estimated
  Bytes slack_items;                    // allocated between the pools and the last line
};

// The lines in SGLang's order, words and unit: its "GB" are GiB. Times, which nobody can tell, are
// left as "…". Lines behind a refusal are left out.
// Sources: model_executor/model_runner.py, mem_cache/memory_pool.py, mem_cache/swa_memory_pool.py,
// managers/scheduler.py (0bda0b168); older words from public logs (rules.yaml).
std::vector<std::string> StartupLog(const Context& context, const Defaults& defaults,
                                    const Pools& pools, const StartupFacts& facts);

}  // namespace shardplan::sglang

#endif  // SHARDPLAN_ENGINE_SGLANG_STARTUP_LOG_H_
