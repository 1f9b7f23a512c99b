// From a path to the files that make up a checkpoint.
#ifndef SHARDPLAN_CHECKPOINT_SOURCE_H_
#define SHARDPLAN_CHECKPOINT_SOURCE_H_

#include <string>
#include <vector>

#include "shardplan/base/result.h"
#include "shardplan/checkpoint/inventory.h"

namespace shardplan {

struct Source {
  SourceKind kind = SourceKind::kDirectory;
  std::string directory;
  std::string config_path;        // empty when there is none
  std::string quant_config_path;  // empty when there is none
  std::string index_path;         // empty when there is none
  // The .safetensors files of the directory, sorted, or the single shard. Hidden files are left
  // out: copying through a Mac leaves a "._" file beside each.
  std::vector<std::string> shards;
};

// Looks at names only; nothing is read. Fails with kIo when the path is not there and with
// kInvalidInput when it is none of the accepted forms.
Result<Source> LocateCheckpoint(const std::string& path);

// Whether a file is there, following symbolic links. A link to nothing is not there (a Hugging Face
// cache while it downloads); a loop of links or a forbidden directory is an error.
Result<bool> IsPresent(const std::string& path);

}  // namespace shardplan

#endif  // SHARDPLAN_CHECKPOINT_SOURCE_H_
