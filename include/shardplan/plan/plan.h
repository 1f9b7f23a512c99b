// An evaluated deployment: the answer, with everything behind it. One value, many printings.
#ifndef SHARDPLAN_PLAN_PLAN_H_
#define SHARDPLAN_PLAN_PLAN_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shardplan/base/basis.h"
#include "shardplan/base/finding.h"
#include "shardplan/base/result.h"
#include "shardplan/hardware/cluster.h"
#include "shardplan/layout/layout.h"
#include "shardplan/ledger/ledger.h"
#include "shardplan/model/model.h"
#include "shardplan/plan/deployment.h"
#include "shardplan/plan/expert_load.h"
#include "shardplan/plan/loading.h"
#include "shardplan/plan/traffic.h"

namespace shardplan {

enum class Verdict { kFits, kDoesNotFit, kIllegal };

std::string_view ToString(Verdict verdict);  // "fits", "does_not_fit", "illegal"

// What is short, on the fullest rank.
struct Limiting {
  int64_t rank = 0;
  Account account = Account::kKvCache;
  Bytes short_by;
};

struct WeightsDetail {
  Bytes parameters;  // as the engine creates them
  Bytes buffers;     // rotary caches, second copies, expert maps
  Bytes post_load;   // what post-load processing adds
  Bytes rounding;    // of the allocator
};

// A parameter, buffer or copy behind a rank's weights; for explanations. Rows that are the same in
// several layers stand for all of them.
struct WeightItem {
  std::string name;
  std::string rule;
  std::string shape;
  int64_t count = 1;
  Bytes bytes;  // of all `count`
  Basis basis = Basis::kExact;
  std::string source;
};

struct RankPlan {
  RankPlace place;
  int64_t numa_node = 0;
  Bytes device_total;      // nvidia-smi's
  Bytes capacity;          // CUDA's
  Bytes budget;            // what the engine allows itself
  Bytes weights;           // resident after loading and offload
  Bytes offloaded;         // in host memory
  Bytes pinned_allocated;  // what the pinned allocator takes for it
  WeightsDetail detail;
  Range kv_available;
  Bytes bytes_per_block;
  Bytes headroom;  // kv_available less what was asked for
  Bytes load_peak;
  std::string load_reason;  // what is on the card for a moment, in words
  std::string load_help;    // what makes it smaller
  Ledger ledger;
};

// Caches that share block tables: of every request they hold the same number of blocks.
struct KvGroupPlan {
  std::string_view kind;     // "sliding window", "KDA states", …
  int64_t window = 0;        // tokens of a window or chunk; 0: no limit
  int64_t caches = 0;        // over all stages; a layer with an indexer has two
  int64_t block_tokens = 0;  // 0: a block holds one state
  Bytes page;                // one block in one layer, the widest
  int64_t blocks_per_request = 0;

  friend bool operator==(const KvGroupPlan&, const KvGroupPlan&) = default;
};

struct KvPlan {
  std::string dtype;
  int64_t block_tokens = 0;
  Bytes bytes_per_block;  // of the dearest stage
  Bytes page;             // one block in one layer
  std::vector<Bytes> bytes_per_block_by_stage;
  std::vector<int64_t> attention_layers_by_stage;
  std::vector<KvGroupPlan> groups;  // in the engine's order
  int64_t num_blocks = 0;
  int64_t num_blocks_low = 0;   // with every uncertain entry at its dear end
  int64_t num_blocks_high = 0;  // at its cheap end
  int64_t blocks_per_request = 0;
  double max_concurrency = 0;
  int64_t tokens = 0;
  int64_t full_window_requests = 0;
  std::optional<int64_t> typical_tokens;      // as asked for
  std::optional<double> typical_concurrency;  // at that length
};

struct WindowPlan {
  int64_t max_model_len = 0;
  std::optional<int64_t> output_tokens;
  std::optional<int64_t> max_input_tokens;
};

// A term of what SGLang's default fraction leaves outside.
struct ReserveTerm {
  std::string name;
  std::string rule;
  double mib = 0;
};

// SGLang's pool of recurrent states.
struct StatePoolPlan {
  int64_t layers = 0;  // that one slot has states of
  int64_t slots = 0;
  int64_t slots_per_request = 1;
  int64_t requests = 0;  // that the pool has slots for
  Bytes slot;
  Bytes convolution;  // of a slot
  Bytes recurrent;
};

// SGLang's second cache, in host memory.
struct HostCachePlan {
  Bytes per_rank;
  int64_t tokens = 0;
  Bytes per_node;  // with what SGLang leaves alone
};

// What SGLang's rules make of the memory that is free before the weights.
struct StaticMemoryPlan {
  double fraction = 0;  // --mem-fraction-static, given or made up
  bool fraction_given = false;
  std::vector<ReserveTerm> terms;           // of a fraction that was made up
  double minimum_fraction = 0;              // that leaves anything after the weights
  std::optional<double> smallest_fraction;  // with which the request fits
  std::optional<double> largest_fraction;   // that leaves room for what runs outside
  Range free_before_load;                   // the least of all ranks
  Range free_after_load;
  int64_t max_running_requests = 0;  // of a DP rank
  int64_t window_tokens = 0;         // of the pool of layers with a window; 0: none
  std::optional<StatePoolPlan> states;
  std::optional<HostCachePlan> host_cache;
  std::vector<std::vector<std::string>> log;  // what a rank of each stage will print
};

struct NumaBytes {
  int64_t numa_node = 0;
  Bytes bytes;                       // payload
  Bytes allocated;                   // really taken
  std::optional<Bytes> memory = {};  // that it has, where a cluster tells it
};

// What takes host memory of a node.
struct HostRow {
  std::string name;  // "pinned_weights", "kv_tier", "workers", "shared_memory", "page_cache"
  Range bytes;
  Basis basis = Basis::kDerived;
  std::string source;
  bool reclaimable = false;  // the kernel takes it back when memory is wanted
};

struct HostPlan {
  int64_t node = 0;
  Bytes pinned;
  Bytes pinned_allocated;
  std::vector<NumaBytes> per_numa;
  std::vector<HostRow> rows = {};
  // Where a cluster tells them.
  std::string name = {};  // of the host
  std::optional<SourcedBytes> memory = {};
  std::optional<SourcedBytes> container_limit = {};
  std::optional<SourcedBytes> shm = {};  // size of /dev/shm
};

// Shard files of a node, by index into the inventory; empty without headers.
struct FilesPlan {
  int64_t node = 0;
  std::vector<std::string> shards;         // what the node keeps: needed ones and those outside
  std::vector<std::string> needed_shards;  // hold at least one tensor that the stage loads
  Bytes bytes;                             // of `shards`
};

struct LaunchPlan {
  int64_t node = 0;
  std::vector<std::pair<std::string, std::string>> env;
  std::vector<std::string> argv;
};

// The opening table: physical memory against file bytes.
struct EvenShare {
  int64_t cards = 0;
  Bytes card;        // nvidia-smi's total of one
  Bytes physical;    // of all
  Bytes file_bytes;  // of the checkpoint; payload where there are no files
  Bytes share;       // file bytes ÷ cards, rounded up
  Bytes margin;      // card − share
  bool from_files = false;
};

// Activation peak of one stage, for the report.
struct ActivationPlan {
  int64_t stage = 0;
  Range peak;
  std::string binding;
  std::string flag;
  Bytes per_token;
  // The peak is the sum of the fixed pieces and the binding phase.
  std::vector<std::pair<std::string, Bytes>> fixed;
  std::vector<std::pair<std::string, Bytes>> phases;
};

struct Plan {
  Verdict verdict = Verdict::kIllegal;
  Verdict verdict_low = Verdict::kIllegal;   // every uncertain entry at its cheap end
  Verdict verdict_high = Verdict::kIllegal;  // at its dear end
  std::optional<Limiting> limiting;
  std::vector<Finding> findings;

  // The model.
  std::string source;
  std::string architecture;
  std::string family;
  TensorTotals totals;
  std::optional<Bytes> file_bytes;
  Basis shape_basis = Basis::kDerived;

  // The engine.
  std::string engine;
  std::string engine_version;
  std::vector<OptionValue> defaults;

  // The layout.
  ParallelSizes sizes;
  std::vector<StageRange> stages;
  std::string gpu;
  std::string gpu_name;
  int64_t nodes = 0;
  int64_t gpus_per_node = 0;
  std::string cluster_file;  // empty without one

  EvenShare even_share;
  std::vector<RankPlan> ranks;
  std::vector<ActivationPlan> activations;  // one per stage
  std::optional<KvPlan> kv;
  std::optional<StaticMemoryPlan> static_memory;  // SGLang's
  WindowPlan window;
  std::vector<HostPlan> host;
  std::vector<FilesPlan> files;
  std::vector<LaunchPlan> launch;
  std::optional<TrafficPlan> traffic;
  std::optional<LoadingPlan> loading;
  std::optional<ExpertLoadPlan> expert_load;  // where loads were given
};

// Prints nothing, and loads nothing but a draft model that speculation names: arithmetic on a
// loaded model. Fails with kUsage for values no engine accepts and with kUnsupported for what this
// version does not model; an illegal layout and one that does not fit are plans, not errors.
Result<Plan> EvaluatePlan(const Model& model, const Catalog& catalog, const ConfigStore& store,
                          const Deployment& deployment);

class Planner;

// Makes many plans of one model, fast: the same figures and verdict as EvaluatePlan, without fixes,
// explaining notes, host memory, files and launch commands, and of ranks with the same figures the
// first alone. What deployments on the same card and
// engine share is looked up once. Model, catalogue and store have to outlive it.
class FigureEvaluator {
 public:
  FigureEvaluator(const Model& model, const Catalog& catalog, const ConfigStore& store);
  ~FigureEvaluator();
  FigureEvaluator(const FigureEvaluator&) = delete;
  FigureEvaluator& operator=(const FigureEvaluator&) = delete;

  Result<Plan> Evaluate(const Deployment& deployment);

 private:
  const Model& model_;
  const Catalog& catalog_;
  const ConfigStore& store_;
  std::unique_ptr<Planner> planner_;  // of the last deployment,
  Deployment last_;                   // which was this one
};

// The items behind a rank's weights (parameters, buffers, post-load copies; offloaded ones
// included): they sum to parameters + buffers + post_load. Fails as EvaluatePlan does, and with
// kUsage for a rank that the layout doesn't have.
Result<std::vector<WeightItem>> ExplainWeights(const Model& model, const Catalog& catalog,
                                               const ConfigStore& store,
                                               const Deployment& deployment, int64_t rank);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_PLAN_H_
