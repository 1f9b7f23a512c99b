// What `launch stage-index` says that a node holds.
#ifndef SHARDPLAN_PREFLIGHT_STAGE_MANIFEST_H_
#define SHARDPLAN_PREFLIGHT_STAGE_MANIFEST_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "shardplan/base/bytes.h"
#include "shardplan/base/result.h"

namespace shardplan {

struct StageManifest {
  std::vector<int64_t> stages;
  std::string source_sha256;  // of the index that it was cut from
  std::string index_path;     // of the stage's own
  std::string index_sha256;
  std::vector<std::pair<std::string, Bytes>> files;  // sorted by name
};

// Reads manifest.json of `directory`. Fails with kIo where there is none, with kInvalidInput for
// anything that `launch stage-index` would not write: a file name that leaves the directory, a size
// that is none.
Result<StageManifest> ReadStageManifest(const std::string& directory);

}  // namespace shardplan

#endif  // SHARDPLAN_PREFLIGHT_STAGE_MANIFEST_H_
