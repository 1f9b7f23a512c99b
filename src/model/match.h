// Ties tensor records to the rows of a family's table.
#ifndef SHARDPLAN_MODEL_MATCH_H_
#define SHARDPLAN_MODEL_MATCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "shardplan/base/finding.h"
#include "shardplan/base/result.h"
#include "shardplan/checkpoint/inventory.h"
#include "shardplan/model/model.h"

namespace shardplan {

// Result of matching an inventory against a table.
struct MatchReport {
  TensorTotals totals;
  std::vector<ShardUse> shard_use;
  std::vector<bool> row_present;  // per row of the table; false only for optional ones
  bool complete = true;           // false only where a part was asked for and found
  std::vector<Finding> findings;
  Contents contents;  // as the headers have it
};

// Fails with kInvalidInput when a required tensor is missing or has another shape than the table
// says. `config` names the config for messages. With headers, dtypes may differ (the file's count
// for the file) and are a note. `allow_part` accepts a single shard of several.
Result<MatchReport> MatchHeaders(const TensorTable& table, const Inventory& inventory,
                                 const std::string& config, bool allow_part = false);

// The same for an index whose shards are not there: names only. Returns MatchReport::row_present.
Result<std::vector<bool>> MatchIndex(const TensorTable& table, const Inventory& inventory,
                                     const std::string& config);

}  // namespace shardplan

#endif  // SHARDPLAN_MODEL_MATCH_H_
