// Which files each node needs, for the tools that bring them there.
#ifndef SHARDPLAN_LAUNCH_FILE_LISTS_H_
#define SHARDPLAN_LAUNCH_FILE_LISTS_H_

#include <string>

#include "shardplan/base/result.h"
#include "shardplan/launch/bundle.h"
#include "shardplan/launch/launch_input.h"

namespace shardplan {

struct HubSource {
  std::string repo;      // "moonshotai/Kimi-K3"; empty: none is known
  std::string revision;  // a branch, tag or commit; empty: the newest
};

// "node-0.files", … for `rsync --files-from`: the node's shards, then configs, tokenizer and code;
// with a repository "node-0.download.sh", which fetches the same from the hub; and FILES.md, with
// bytes per node. Fails with kInvalidInput without shard headers and for names that a list of lines
// cannot hold, and with kUsage for a repository that is not OWNER/NAME.
Result<Bundle> MakeFileLists(const LaunchInput& input, const HubSource& hub);

// Whether it is the id of a repository on the hub: OWNER/NAME of letters, digits, "-", "_" and ".".
bool IsRepoId(const std::string& text);

// The repository that the launch command serves by its id; empty where it serves a path.
std::string RepoOf(const LaunchInput& input);

}  // namespace shardplan

#endif  // SHARDPLAN_LAUNCH_FILE_LISTS_H_
