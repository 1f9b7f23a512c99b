// The commands of all nodes as one, for places where a node learns its number when it starts.
#ifndef SHARDPLAN_LAUNCH_GROUP_COMMAND_H_
#define SHARDPLAN_LAUNCH_GROUP_COMMAND_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "shardplan/base/result.h"
#include "shardplan/plan/plan.h"

namespace shardplan {

struct GroupWord {
  enum class Kind {
    kText,       // the same on every node
    kRank,       // the node's number
    kStartRank,  // the node's number × `factor`: its first data-parallel rank
    kMaster,     // node 0's address, followed by `text` (":5000" or nothing)
  };
  Kind kind = Kind::kText;
  std::string text;
  int64_t factor = 1;
  bool workers_only = false;  // not on node 0
};

struct GroupCommand {
  int64_t nodes = 1;
  std::vector<std::pair<std::string, std::string>> env;  // the same on every node
  std::vector<GroupWord> words;
};

// The commands of the plan's nodes, told apart by number and by node 0's address alone. Fails with
// kUnsupported for a plan without commands and where nodes differ in anything else, and with kUsage
// where a placeholder such as <INTERFACE> is left in them.
Result<GroupCommand> MakeGroupCommand(const Plan& plan);

// What one node runs.
std::vector<std::string> WordsOf(const GroupCommand& command, int64_t node,
                                 const std::string& master);

}  // namespace shardplan

#endif  // SHARDPLAN_LAUNCH_GROUP_COMMAND_H_
