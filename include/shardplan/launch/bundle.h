// Files that are handed over together: one directory, all of it or nothing.
#ifndef SHARDPLAN_LAUNCH_BUNDLE_H_
#define SHARDPLAN_LAUNCH_BUNDLE_H_

#include <string>
#include <vector>

#include "shardplan/base/result.h"

namespace shardplan {

struct Artefact {
  std::string path;  // below the directory: "node-0.sh", "stage-0/model.safetensors.index.json"
  std::string text;
  bool executable = false;
};

struct Bundle {
  std::vector<Artefact> files;  // as the maker lists them; paths are all different
};

// Writes every file into a hidden sibling of `directory` and renames that, so that the directory
// appears complete or not at all. `directory` must not be there or be empty. Fails with kIo, and
// with kInternal for a path that leaves the directory.
Status WriteBundle(const Bundle& bundle, const std::string& directory);

// All files as one text, each under a line "==> PATH <==": what a person reads before writing.
std::string RenderBundle(const Bundle& bundle);

}  // namespace shardplan

#endif  // SHARDPLAN_LAUNCH_BUNDLE_H_
