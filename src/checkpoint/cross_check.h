// From single files to one checkpoint: joining shards, and holding them against the index.
#ifndef SHARDPLAN_CHECKPOINT_CROSS_CHECK_H_
#define SHARDPLAN_CHECKPOINT_CROSS_CHECK_H_

#include <string>
#include <vector>

#include "checkpoint/index.h"
#include "checkpoint/interner.h"
#include "checkpoint/shard_file.h"
#include "shardplan/base/result.h"
#include "shardplan/checkpoint/inventory.h"

namespace shardplan {

// Appends the shards' tensors and sizes to `inventory`, in the order given, so that the result does
// not depend on which thread read what. Patterns stay in `patterns` until the caller takes them.
// Throws SizeOverflow when the sizes' sum does not fit.
void JoinShards(std::vector<ShardFile> shards, Interner* patterns, Inventory* inventory);

// No tensor in two shards and, with an index (null for none), every tensor of the index in the
// shard that it names and the other way round. Fails with kInvalidInput; the error names the first
// tensor that is wrong and how many are.
Status CrossCheck(const Inventory& inventory, const ParsedIndex* index,
                  const std::string& index_path, Interner* patterns);

// Compares the index's total_size with the payloads: never an error, at most a finding.
void CheckTotalSize(const ParsedIndex& index, const std::string& index_path, Inventory* inventory);

}  // namespace shardplan

#endif  // SHARDPLAN_CHECKPOINT_CROSS_CHECK_H_
