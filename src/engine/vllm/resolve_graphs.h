// Compilation and CUDA graphs: what of them runs.
#ifndef SHARDPLAN_ENGINE_VLLM_RESOLVE_GRAPHS_H_
#define SHARDPLAN_ENGINE_VLLM_RESOLVE_GRAPHS_H_

#include <vector>

#include "engine/vllm/context.h"
#include "shardplan/base/finding.h"
#include "shardplan/base/result.h"

namespace shardplan::vllm {

// Fills in `compiled`, the graph mode, the capture sizes and the numbers of graphs of `resolved`,
// whose batch, backend, runner and draft tokens are there already. Fails with kUsage for values
// vLLM would not accept; what it refuses or overrides is a finding in its words.
Status ResolveGraphs(const Context& context, Resolved* resolved, std::vector<Finding>* findings);

}  // namespace shardplan::vllm

#endif  // SHARDPLAN_ENGINE_VLLM_RESOLVE_GRAPHS_H_
