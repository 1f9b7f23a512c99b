// An index for each pipeline stage, so that a node can do with its own part of the files.
#ifndef SHARDPLAN_LAUNCH_STAGE_INDEX_H_
#define SHARDPLAN_LAUNCH_STAGE_INDEX_H_

#include "shardplan/base/result.h"
#include "shardplan/checkpoint/inventory.h"
#include "shardplan/launch/bundle.h"
#include "shardplan/launch/launch_input.h"

namespace shardplan {

// For each set of stages that a node runs ("stage-0", "stages-0-1"): the index with the entries of
// their layers and of all that is outside the layer stack, in the source's order, and manifest.json
// with where they come from and the files they need; and FILES.md, which says how to use them.
//
// Reads the headers and the index again and changes neither. Fails with kUsage for one stage, and
// with kUnsupported where nothing can be cut: no shard headers or no index, a single shard, a
// family that nobody knows, nodes that run every stage.
Result<Bundle> MakeStageIndex(const LaunchInput& input, const OpenOptions& options = {});

}  // namespace shardplan

#endif  // SHARDPLAN_LAUNCH_STAGE_INDEX_H_
