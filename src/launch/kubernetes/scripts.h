// The programs that run in the pods, and what they read.
#ifndef SHARDPLAN_LAUNCH_KUBERNETES_SCRIPTS_H_
#define SHARDPLAN_LAUNCH_KUBERNETES_SCRIPTS_H_

#include <string>
#include <utility>
#include <vector>

#include "launch/kubernetes/facts.h"
#include "shardplan/base/result.h"

namespace shardplan::kubernetes {

// Where the ConfigMap is mounted.
inline constexpr const char* kScriptsPath = "/opt/shardplan";

// start.sh (bash): starts the engine of this node. All words are quoted; only the node's number and
// node 0's address come from the environment.
std::string MakeStartScript(const Facts& facts);

// verify.sh (POSIX sh): looks for the completion marker, config.json, the index and every shard
// file that the node needs, with its size; says which is missing and ends in 1.
//
// The lists that it reads are files-N.txt, one "SIZE NAME" a line, for the first node N that needs
// them. Fails with kUnsupported for names that a line cannot hold and for lists that a ConfigMap
// cannot.
Result<std::vector<std::pair<std::string, std::string>>> MakeVerifyFiles(const Facts& facts);

// All of them, verify.sh and start.sh first.
Result<std::vector<std::pair<std::string, std::string>>> MakeScripts(const Facts& facts);

// Changes with any of them: 16 hexadecimal digits (FNV-1a).
std::string HashOf(const std::vector<std::pair<std::string, std::string>>& scripts);

}  // namespace shardplan::kubernetes

#endif  // SHARDPLAN_LAUNCH_KUBERNETES_SCRIPTS_H_
