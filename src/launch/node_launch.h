// What runs on each node and what the place has to say, before it is written for a shell, a
// container or a scheduler.
#ifndef SHARDPLAN_LAUNCH_NODE_LAUNCH_H_
#define SHARDPLAN_LAUNCH_NODE_LAUNCH_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "launch/host_address.h"
#include "shardplan/base/result.h"
#include "shardplan/launch/bundle.h"
#include "shardplan/launch/launch_input.h"

namespace shardplan {

struct NodeLaunch {
  int64_t node = 0;
  int64_t first_rank = 0;
  int64_t gpus = 0;             // ranks on this node
  std::vector<int64_t> stages;  // of its ranks, ascending
  bool serves_api = false;
  std::vector<std::pair<std::string, std::string>> env;  // without the place's variables
  // The plan's, with --host and --port; a word may begin with a variable: "<MASTER_ADDR>:5000".
  std::vector<std::string> argv;
};

struct PreparedLaunch {
  std::string name;    // of the deployment, a DNS label
  std::string engine;  // "vLLM 0.31.0": as asked for
  std::vector<NodeLaunch> nodes;
  std::vector<SiteVariable> variables;
  std::vector<std::string> host_names;  // where hosts are given by name: one a node
  int64_t port = 8000;                  // of the API
  std::string api_host;                 // that it listens on
  bool rdma = false;                    // between nodes
  bool tls = false;                     // the API speaks https
  // vLLM's replicas bind node 0's address, and ZMQ binds no names.
  bool binds_master = false;

  bool multi_node() const { return nodes.size() > 1; }
  // By name; nothing where the launch needs none such.
  const SiteVariable* Find(std::string_view name) const;
  // The variable that a word begins with, and what follows: "<MASTER_ADDR>:5000" is MASTER_ADDR and
  // ":5000". Words that hold something like it elsewhere are plain ones.
  struct Word {
    const SiteVariable* variable = nullptr;
    std::string text;
  };
  Word Split(const std::string& word) const;
};

// Of a plan with commands. A node's address, the interfaces and the adapters become variables only
// where there are several nodes. Variables that the plan's environment sets are known, but for a
// node's own address, which cannot be the same on all. --host and
// --port that a pasted command has count where the site leaves both alone.
//
// Fails with kUnsupported for an illegal layout, and with kUsage for a number of hosts that is not
// the nodes', a name that is no DNS label, an address or path that cannot be one, and a name of a
// variable that is no identifier.
Result<PreparedLaunch> PrepareLaunch(const LaunchInput& input);

// The engine's version as it was asked for; where nobody did, the plan's.
std::string VersionOf(const LaunchInput& input);

// Whether a command has the flag, as a word of its own or with "=" behind it.
bool HasFlag(const std::vector<std::string>& argv, std::string_view flag);

// A DNS label made of a model's path: "kimi-k3" of "/models/Kimi-K3/config.json".
std::string DefaultName(const std::string& source);

// The "model" of a JSON object, as --speculative-config names its draft; empty where there is none.
std::string ModelOfObject(const std::string& json);

// A draft is gigabytes beside the model: no image has it.
Error DraftNotMounted(const std::string& path);

}  // namespace shardplan

#endif  // SHARDPLAN_LAUNCH_NODE_LAUNCH_H_
