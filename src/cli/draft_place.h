// Where the engine finds the draft of speculative decoding on the nodes.
#ifndef SHARDPLAN_CLI_DRAFT_PLACE_H_
#define SHARDPLAN_CLI_DRAFT_PLACE_H_

#include <string>

#include "shardplan/base/result.h"
#include "shardplan/plan/plan.h"

namespace shardplan::cli {

// Sets what the launch files name as the draft: `given` (--draft-path), an absolute directory or
// the name of a repository ("ORG/NAME") that the engine downloads; where nothing is given, the
// directory that the plan was made from, if nodes can find it: an absolute one. A path that is not
// here is a name already and stays. Fails with kUsage for a path relative to this directory, for a
// --draft-path that is neither, and for one without a draft that it could stand for.
Status PlaceDraft(const std::string& given, Deployment* deployment);

}  // namespace shardplan::cli

#endif  // SHARDPLAN_CLI_DRAFT_PLACE_H_
