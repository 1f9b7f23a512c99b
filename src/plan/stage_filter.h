// Which tensors of a checkpoint a node keeps that runs some of the pipeline's stages.
#ifndef SHARDPLAN_PLAN_STAGE_FILTER_H_
#define SHARDPLAN_PLAN_STAGE_FILTER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/index.h"
#include "shardplan/layout/layout.h"
#include "shardplan/model/tensor_table.h"

namespace shardplan {

// Kept are the tensors of the stages' layers and everything outside the stack: embedding, head,
// final norm, towers, drafts, and what no row of the table explains. What no engine loads stays
// where its shard does. PlanFiles keeps the same shards.
class StageFilter {
 public:
  // The entries' patterns and shards are numbers below the sizes of `patterns` and `shards`.
  StageFilter(const TensorTable& table, const std::vector<std::string>& patterns,
              const std::vector<IndexEntry>& entries, size_t shards);

  struct Kept {
    std::vector<bool> entries;  // one each, in their order
    std::vector<bool> shards;
    int64_t count = 0;  // of the entries
  };
  Kept For(const std::vector<StageRange>& stages) const;

 private:
  static constexpr int32_t kOutside = -1;
  static constexpr int32_t kNowhere = -2;  // stored, loaded by no engine

  std::vector<int32_t> layers_;  // of each entry
  std::vector<uint32_t> shard_of_;
  size_t shards_;
};

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_STAGE_FILTER_H_
