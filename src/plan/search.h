// Searches for the nearest deployment that fits, on the evaluation itself: no engine's formulas.
#ifndef SHARDPLAN_PLAN_SEARCH_H_
#define SHARDPLAN_PLAN_SEARCH_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "shardplan/plan/plan.h"

namespace shardplan {

// A plan's figures and verdict; nothing where the request is malformed.
using Evaluator = std::function<std::optional<Plan>(const Deployment&)>;

// Whether the cards hold it; what their nodes' own memory says is another matter, and goes the
// other way: more offload needs less of the one and more of the other.
bool CardsHold(const Plan& plan);

bool FitsBy(const Evaluator& evaluate, const Deployment& deployment);

// The smallest value in (low, high] for which `holds`, given that it holds for `high` and that it
// is monotone.
int64_t SmallestThat(int64_t low, int64_t high, const std::function<bool(int64_t)>& holds);

// The smallest whole GiB of UVA offload a card with which a deployment does what is wanted of it.
struct OffloadFound {
  Deployment deployment;
  std::optional<Plan> plan;  // of `deployment`, as the last call to `wanted` saw it
  bool holds = false;        // else the largest offload that there is, which is not enough
};

// More than the deployment offloads already and at most all parameters of the fullest rank of
// `now`, its plan. `params` go first, or everything where there are none. `wanted` is monotone, and
// false for no plan. Nothing where there is no more to offload.
std::optional<OffloadFound> SmallestOffloadBy(
    const Evaluator& evaluate, const Deployment& deployment, const Plan& now,
    const std::vector<std::string>& params,
    const std::function<bool(const std::optional<Plan>&)>& wanted);

// Largest window (whole tokens) with which it fits and that holds the output and typical tokens of
// the request; nothing when none does, or none of at least 1,024 tokens or a quarter of what was
// asked for, whichever is less.
std::optional<Deployment> LargestWindowBy(const Evaluator& evaluate, const Deployment& deployment);

// SGLang's --mem-fraction-static, in thousandths: pools grow with it and what runs outside shrinks,
// so that only a range of fractions fits, if any. The smallest of them.
std::optional<int64_t> FractionThatFits(const Evaluator& evaluate, const Deployment& deployment);

// More cards of the same kind: tensor parallelism doubled up to a node, more pipeline stages
// beyond. Fewest nodes first, then fewest stages, then fewest cards; nothing up to 64 nodes.
std::optional<Deployment> FewestCardsBy(const Evaluator& evaluate, const Deployment& deployment,
                                        int64_t cards_per_node, int64_t layers);

// Ways out in one text, each whole in itself, so that nobody has to guess what belongs to what: "a
// b (why); or a c". `with`, options that all of them need, stand in each.
std::string JoinFixes(const std::vector<std::string>& fixes, const std::string& with = "");

// What to write for them, with the engine's names of the options.
std::string DescribeWindow(const std::string& option, const Deployment& fitting);
std::string DescribeCards(const std::string& tp, const std::string& pp, const Deployment& asked,
                          const Deployment& fitting);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_SEARCH_H_
