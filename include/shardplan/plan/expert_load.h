// How evenly routed tokens fall on the ranks that hold the experts.
#ifndef SHARDPLAN_PLAN_EXPERT_LOAD_H_
#define SHARDPLAN_PLAN_EXPERT_LOAD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardplan {

// Loads as a file has them: tokens that chose an expert, or any other measure of it.
struct ExpertLoads {
  struct Layer {
    std::optional<int64_t> layer;  // of the model; nothing: mixtures in order
    std::vector<double> loads;     // by expert; experts beyond the end had none
  };
  std::string file;
  std::vector<Layer> layers;
};

// The load of ranks in one placement of the experts.
struct ExpertPlacement {
  // Load of the busiest rank ÷ mean of all: 1 is even. Ranks wait for each other in every layer, so
  // that a step is as slow as the sum over layers of the busiest.
  double step = 1;
  double worst = 1;
  int64_t worst_layer = 0;
  std::vector<double> shares;  // of all loads, by expert-parallel rank; they sum to one
};

struct ExpertLoadLayer {
  int64_t layer = 0;
  double before = 1;
  std::optional<double> after;
};

struct ExpertLoadPlan {
  std::string file;
  int64_t ranks = 1;       // that experts are spread over
  int64_t redundant = 0;   // replicas, as asked for
  bool balancing = false;  // whether the engine moves experts (--enable-eplb)
  ExpertPlacement before;  // experts in order, no replicas
  // Replicated and packed by load; nothing where experts and replicas don't divide over the ranks.
  std::optional<ExpertPlacement> after;
  std::vector<ExpertLoadLayer> layers;
  int64_t hottest_layer = 0;
  int64_t hottest_expert = 0;
  double hottest_share = 0;  // of its layer's load
};

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_EXPERT_LOAD_H_
