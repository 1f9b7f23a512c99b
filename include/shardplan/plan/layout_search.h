// Which layouts fit on a cluster, best first, and why the others don't.
#ifndef SHARDPLAN_PLAN_LAYOUT_SEARCH_H_
#define SHARDPLAN_PLAN_LAYOUT_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shardplan/base/bytes.h"
#include "shardplan/base/result.h"
#include "shardplan/hardware/cluster.h"
#include "shardplan/model/model.h"
#include "shardplan/plan/plan.h"

namespace shardplan {

enum class Objective {
  kMaxConcurrency,
  kMaxWindow,
  kMinGpus,
  kMinOffload,
  kMinInternodeTraffic,
};

std::string_view ToString(Objective objective);  // "max-concurrency"
// Nothing for other words.
std::optional<Objective> ObjectiveOf(std::string_view name);
// In the order of the enumeration.
const std::vector<Objective>& AllObjectives();

// Sizes that the deployment has and that the search leaves alone.
struct GivenSizes {
  bool tp = false;
  bool pp = false;
  bool dp = false;
  bool dcp = false;
  bool experts = false;       // expert parallelism or its size
  bool attention_dp = false;  // SGLang's
  bool partition = false;
  bool offload = false;
  bool sequences = false;  // how many run at once
  bool chunk = false;      // tokens of a step
  bool graphs = false;     // anything about CUDA graphs
  bool fraction = false;   // SGLang's
  bool moe_backend = false;
  bool cache_dtype = false;
};

// What the layouts are tried with.
struct SearchVariant {
  std::vector<OptionValue> settings;  // what sets it apart from the others, as written
  std::vector<std::string> words;     // behind `shardplan plan`, but for sizes of the layout
  Deployment base;
  GivenSizes given;
};

struct SearchRequest {
  std::vector<SearchVariant> variants;  // one at least
  std::optional<Deployment> today;      // what runs now, to be told beside what is found
  int64_t nodes = 1;                    // at most
  std::vector<std::string> freed;       // flags of a given command that the search leaves open
  std::vector<Objective> objectives;    // the first decides, the next where it is equal, …
  size_t limit = 3;                     // candidates that are told
  int threads = 1;                      // the result is the same with any number
};

// What layouts are ranked by.
struct Score {
  double concurrency = 0;  // full-window requests that run at once, over all engines
  int64_t window = 0;      // tokens
  int64_t gpus = 0;
  Bytes offload;  // of the rank that holds most in host memory
  // Bytes between nodes for each decoded token; where the search goes by it.
  std::optional<double> network_per_token = {};

  // What offloads are compared by: whole GiB, which is what they are asked for in.
  int64_t OffloadGiB() const;
  // At least as good in everything, and better in something.
  bool Dominates(const Score& other) const;
};

struct Candidate {
  std::vector<OptionValue> settings;  // of its variant
  std::vector<std::string> words;     // of its variant
  std::vector<OptionValue> chosen;    // by the search, beside sizes; a switch has no value
  Deployment deployment;
  Plan plan;  // the whole one: what `plan` says of the deployment
  Score score;
  bool pareto = false;    // nothing that fits dominates it
  bool narrowed = false;  // the cache holds a lower precision that nobody asked for
  int64_t alike = 0;      // other candidates of the same engine, TP, PP and DP, which rank below
};

// Layouts that were rejected for one reason.
struct Rejection {
  std::string reason_id;  // of a finding, or "short." and the account that is short
  int64_t count = 0;
  std::string example;  // the nearest miss, else the first
};

// How a layout uses several cards: what one would weigh against another.
enum class LayoutKind {
  kTensor,           // TP alone, or one card
  kStages,           // pipeline stages
  kExperts,          // whole experts over data-parallel engines (SGLang: over the ranks of TP)
  kStagesOfExperts,  // both
  kReplicas,         // engines that share nothing
};

std::string_view ToString(LayoutKind kind);  // "pipeline stages"
LayoutKind KindOf(const Deployment& deployment);

// The best layout of a kind that no candidate has.
struct Alternative {
  LayoutKind kind = LayoutKind::kTensor;
  std::optional<Candidate> candidate;  // nothing where none fits:
  std::string miss;                    // then the one that is short by the least, and by what
};

struct SearchResult {
  std::string gpu_name;
  int64_t cards_per_node = 0;
  int64_t layouts = 0;                // that were looked at
  int64_t evaluated = 0;              // plans made for it: partitions and offload are searched, too
  int64_t feasible = 0;               // layouts that fit
  std::vector<Candidate> candidates;  // best first, at most `limit`, one for each TP, PP and DP
  std::vector<Alternative> instead;   // in the order of the kinds
  std::vector<Rejection> rejected;    // most layouts first
  std::optional<Candidate> today;     // of the request, whatever its verdict
  // Where nothing fits: what `plan` says of the layout that is short by the least.
  std::vector<Finding> nearest;
};

// Evaluates every layout with every variant. Of a pipeline, the partition is the best that giving
// single layers of one stage to another finds from the default one. What is short gets the mildest
// economies that are enough, else the smallest offload that fits as well (vLLM), of what is not
// given; what is offloaded unasked ranks below what needs none, and what a known issue stopped in
// an earlier version below what nothing is known of. A candidate is planned once more as a whole,
// and rejected where that does not fit. Deterministic. Fails with kUsage for more than 512 cards,
// where the given sizes fill no number of cards, and as EvaluatePlan does for all layouts alike.
Result<SearchResult> SearchLayouts(const Model& model, const Catalog& catalog,
                                   const ConfigStore& store, const SearchRequest& request);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_LAYOUT_SEARCH_H_
