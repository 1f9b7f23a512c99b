// What a node has to read before it serves, and how long that takes at least.
#ifndef SHARDPLAN_PLAN_LOADING_H_
#define SHARDPLAN_PLAN_LOADING_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shardplan/base/bytes.h"
#include "shardplan/hardware/link_rates.h"

namespace shardplan {

// Seconds at a link rate: `fastest` and `slowest` at the ends of the rate's range.
struct ReadTime {
  double seconds = 0;
  double fastest = 0;
  double slowest = 0;
};

struct NodeLoading {
  int64_t node = 0;
  int64_t ranks = 0;
  Bytes tensors;  // that its stages own, once each

  // Of the files; nothing without headers.
  std::optional<Bytes> needed;  // whole files that hold at least one of those tensors
  std::optional<Bytes> opened;  // files that every rank goes through: all, without a stage index
  int64_t needed_files = 0;
  int64_t opened_files = 0;
  int64_t shared_files = 0;  // needed by several ranks of the node: read once, then from page cache
  std::optional<Bytes> saved;  // by an index of the node's stages alone

  ReadTime disk;                          // of the tensors, from the node's own disks
  std::optional<ReadTime> all_from_disk;  // of all that is opened
};

struct LoadingPlan {
  LinkRates rates;
  std::vector<NodeLoading> nodes;
  Bytes from_shared_fs;  // by all nodes together
  ReadTime shared_fs;
  Bytes to_card;  // the most that one card takes
  std::optional<double> pcie_seconds;

  // What lies beside the weights while they are read.
  Bytes staging;
  bool staging_on_card = false;
  std::string staging_reason;
};

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_LOADING_H_
