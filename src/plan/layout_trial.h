// One layout of a search: made as good as it gets, or rejected for a reason.
#ifndef SHARDPLAN_PLAN_LAYOUT_TRIAL_H_
#define SHARDPLAN_PLAN_LAYOUT_TRIAL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shardplan/base/bytes.h"
#include "shardplan/base/result.h"
#include "shardplan/plan/layout_search.h"
#include "shardplan/plan/plan.h"

namespace shardplan {

// What became of a layout: exactly one of `score` and `reason_id` is there.
struct Trial {
  Deployment deployment;            // with the partition and the offload that were chosen
  std::vector<OptionValue> chosen;  // economies; a switch has no value
  std::optional<Score> score;       // it fits
  std::string reason_id;            // it does not: as in Rejection
  std::string example;
  std::optional<Bytes> short_by;
  std::optional<Bytes> pinned;   // by the fullest rank, where only the nodes' memory is short
  std::optional<Error> refused;  // a request that no engine takes
  bool illegal = false;
  bool narrowed = false;  // the cache got a lower precision that nobody asked for
  bool doubtful = false;  // a known issue of an earlier version may still stop it
  int64_t evaluated = 0;
};

// The scheduler may allow fewer requests than the cache holds.
Score ScoreOf(const Plan& plan, const Deployment& deployment);

// "TP8 × PP2, DCP4 with expert parallel, kv-cache-dtype fp8"
std::string NameOf(const Deployment& deployment, const std::vector<OptionValue>& settings);

// Tries `deployment`, a layout of `variant`. Moves layers between stages as long as it gets better.
// Where it is short, it gets the mildest economies that are enough (vLLM: Kimi's shared experts
// sliced, sequences, chunk, graphs; SGLang: experts left packed and the fraction), then an FP8
// cache beside them, else the smallest offload without that, of what the variant leaves open: such
// that it fits at the dear end of the ranges as well, where any do. The cache may get FP8 where
// `may_narrow` says that the cards compute in it.
Trial TryLayout(FigureEvaluator& evaluator, const Architecture& arch, const SearchVariant& variant,
                Deployment deployment, bool may_narrow = false);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_LAYOUT_TRIAL_H_
