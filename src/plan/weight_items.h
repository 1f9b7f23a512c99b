// The items behind a rank's weights, for explanations.
#ifndef SHARDPLAN_PLAN_WEIGHT_ITEMS_H_
#define SHARDPLAN_PLAN_WEIGHT_ITEMS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "shardplan/base/finding.h"
#include "shardplan/plan/plan.h"
#include "shardplan/sharding/device_weights.h"

namespace shardplan {

// Collects parameters: the same one in several layers is one item with a count.
class WeightItems {
 public:
  // `basis` is that of the model's shapes.
  explicit WeightItems(Basis basis) : basis_(basis) {}

  void Add(std::string name, const DeviceParam& param);
  // What a rank of a stage creates. Layers are called as in the files, with a star for the number.
  void AddStage(const TensorTable& table, const DeviceWeights& weights, const StageRange& stage,
                bool first, bool last);

  std::vector<WeightItem> Take() { return std::move(items_); }

 private:
  Basis basis_;
  std::vector<WeightItem> items_;
};

// The first error of an illegal layout as a kUsage failure.
Status CheckLegal(bool legal, const std::vector<Finding>& findings);

// Fails with kUsage for a rank that the layout doesn't have.
Status CheckRank(int64_t rank, int64_t world);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_WEIGHT_ITEMS_H_
