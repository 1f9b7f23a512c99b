// What a person should know about weights in host memory.
#ifndef SHARDPLAN_PLAN_OFFLOAD_NOTES_H_
#define SHARDPLAN_PLAN_OFFLOAD_NOTES_H_

#include <vector>

#include "plan/prepare.h"
#include "shardplan/plan/plan.h"

namespace shardplan {

// Options that move nothing (offload.nothing), the engine's own line about a prefetch
// (offload.prefetch), buffers that take what it frees (offload.pool), and what pinning takes of the
// hosts (offload.pinned_rounding).
void NoteOffload(const Prepared& prepared, const Plan& plan, std::vector<Finding>* out);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_OFFLOAD_NOTES_H_
