// The shards of a directory, each and against the index.
#ifndef SHARDPLAN_PREFLIGHT_SHARDS_H_
#define SHARDPLAN_PREFLIGHT_SHARDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/index.h"
#include "shardplan/base/bytes.h"
#include "shardplan/base/finding.h"
#include "shardplan/checkpoint/inventory.h"

namespace shardplan {

struct ShardsSeen {
  std::vector<Finding> findings;
  bool sound = false;  // all are there, can be read and agree with the index
  int64_t shards = 0;  // that could be read
  int64_t tensors = 0;
  Bytes file_bytes;
};

// Reads the headers of `wanted`, sorted names of files in `directory`, and holds them against the
// entries of `index` (null for none) that name one of them. What cannot be opened, and Git LFS
// pointers, are left to DirectoryFindings.
ShardsSeen LookAtShards(const std::string& directory, const std::vector<std::string>& wanted,
                        const ParsedIndex* index, const std::string& index_path,
                        const OpenOptions& options);

// Those of `all` that are in `some`, as runs: "a-1, a-3 to a-9"; at most `limit` runs, the rest as
// a count. Both are sorted.
std::string NameRuns(const std::vector<std::string>& all, const std::vector<std::string>& some,
                     size_t limit = 6);

}  // namespace shardplan

#endif  // SHARDPLAN_PREFLIGHT_SHARDS_H_
