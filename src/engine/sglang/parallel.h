// How SGLang's parallel sizes divide a model, and what it refuses.
#ifndef SHARDPLAN_ENGINE_SGLANG_PARALLEL_H_
#define SHARDPLAN_ENGINE_SGLANG_PARALLEL_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/sglang/context.h"
#include "shardplan/base/finding.h"
#include "shardplan/layout/layout.h"

namespace shardplan::sglang {

// Ranks that share one request's attention: TP, less what DP attention takes.
int64_t AttentionTp(const ServerArgs& args);
// DP ranks inside the TP group; whole replicas (--dp-size without DP attention) are none.
int64_t AttentionDp(const ServerArgs& args);
// All-to-all backends make every TP rank an expert-parallel one, whatever --ep-size says.
bool SpansAllRanks(std::string_view a2a_backend);
int64_t ExpertParallel(const ServerArgs& args);
// Ranks that one routed expert is sliced over.
int64_t MoeTp(const ServerArgs& args);

// Layers per stage: as SGLANG_PP_LAYER_PARTITION says, or evenly with the remainder on the last
// stages. Source: distributed/utils.py get_pp_indices (0bda0b168).
std::vector<StageRange> Stages(const ServerArgs& args, int64_t layers);

// What one node runs. Stages are outermost: a stage never shares a node with part of another.
// Source: entrypoints/engine.py _calculate_rank_ranges (0bda0b168).
struct NodeRanks {
  int64_t first_stage = 0;
  int64_t stages = 0;
  int64_t first_tp_rank = 0;
  int64_t tp_ranks = 0;
};
NodeRanks RanksOfNode(const ServerArgs& args, int64_t node_rank);

// What SGLang refuses of sizes and nodes whatever the model, in its own words where it has some.
// Source: server_args.py check_server_args and what it calls (0bda0b168).
std::vector<Finding> CheckSizes(const ServerArgs& args);

// The same, and what SGLang refuses before and while it builds the model, in its own words where it
// has some. Sources: server_args.py check_server_args, distributed/utils.py, layers/linear.py
// (0bda0b168).
std::vector<Finding> CheckLayout(const Context& context);

}  // namespace shardplan::sglang

#endif  // SHARDPLAN_ENGINE_SGLANG_PARALLEL_H_
