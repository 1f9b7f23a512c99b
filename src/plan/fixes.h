// The nearest changes that make a plan fit, each solved on the real evaluation.
#ifndef SHARDPLAN_PLAN_FIXES_H_
#define SHARDPLAN_PLAN_FIXES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/prepare.h"
#include "shardplan/plan/plan.h"

namespace shardplan {

// Smallest whole GiB of UVA offload a card with which the deployment fits; nothing when none does.
// Routed experts go first (w13_weight, w2_weight) unless the request names parameters itself.
std::optional<Deployment> SmallestOffload(const Environment& environment,
                                          const Deployment& deployment);

// Largest window (whole tokens) with which it fits and that holds the output and typical tokens of
// the request; nothing when none does, or none of at least 1,024 tokens or a quarter of what was
// asked for, whichever is less.
std::optional<Deployment> LargestFittingWindow(const Environment& environment,
                                               const Deployment& deployment);

// More cards of the same kind: tensor parallelism doubled up to a node, more pipeline stages
// beyond. Fewest nodes first, then fewest stages, then fewest cards; nothing up to 64 nodes.
std::optional<Deployment> FewestCards(const Environment& environment, const Deployment& deployment);

// What to write for a fix: the options that changed.
std::vector<std::string> DescribeFixes(const Environment& environment,
                                       const Deployment& deployment);

// Every way out of a plan that does not fit, in one line.
std::string DescribeFix(const Environment& environment, const Deployment& deployment,
                        const Plan& plan);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_FIXES_H_
