// One safetensors file on disk.
#ifndef SHARDPLAN_CHECKPOINT_SHARD_FILE_H_
#define SHARDPLAN_CHECKPOINT_SHARD_FILE_H_

#include <string>

#include "checkpoint/header.h"
#include "shardplan/base/bytes.h"
#include "shardplan/base/result.h"
#include "shardplan/checkpoint/inventory.h"

namespace shardplan {

struct ShardFile {
  ShardInfo info;
  ParsedHeader header;
};

// Opens `name` in `directory`, reads the header and nothing else, and checks it against the file's
// length. Throws nothing: a size that overflows or memory that runs out is an error like any other.
Result<ShardFile> ReadShardFile(const std::string& directory, const std::string& name,
                                Bytes max_header);

}  // namespace shardplan

#endif  // SHARDPLAN_CHECKPOINT_SHARD_FILE_H_
