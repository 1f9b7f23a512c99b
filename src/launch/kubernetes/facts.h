// What the manifests are made of: everything checked, nothing left to guess.
#ifndef SHARDPLAN_LAUNCH_KUBERNETES_FACTS_H_
#define SHARDPLAN_LAUNCH_KUBERNETES_FACTS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "launch/group_command.h"
#include "launch/kubernetes/budget.h"
#include "launch/kubernetes/options.h"
#include "shardplan/base/result.h"
#include "shardplan/launch/launch_input.h"

namespace shardplan::kubernetes {

struct Facts {
  const LaunchInput* input = nullptr;
  const Options* options = nullptr;
  std::string name;            // a DNS label of at most kLongestName characters
  std::string image;           // with its digest, where one is given
  bool image_derived = false;  // from the engine's version
  int64_t nodes = 1;
  int64_t gpus = 0;          // of one node
  std::string gpu_resource;  // "nvidia.com/gpu"
  int64_t port = 8000;
  bool tls = false;   // the API speaks HTTPS
  std::string bind;   // that the API listens on: an address, or empty for the pod's own
  std::string model;  // the model's directory, in the container as on the node
  std::string
      model_root;  // what is mounted: the model's directory, or the cache that it links into
  bool numa_bind = false;
  GroupCommand command;                                  // without --host and --port
  std::vector<std::pair<std::string, std::string>> env;  // the site's and the plan's
  std::vector<std::string> left_out;  // variables of the command that choose cards: NAME=VALUE
  HostBudget budget;
  StartupEstimate startup;
  Bytes shm;

  // That the engine reads the API's key from; SGLang gets it as an argument.
  std::string api_key_variable() const {
    return input->plan.engine == "sglang" ? "SGLANG_API_KEY" : "VLLM_API_KEY";
  }
  // Whether something in the pod pins memory for itself: offload, a second cache, RDMA.
  bool locks_memory() const;

  bool is_lws() const { return options->kind == Kind::kLeaderWorkerSet; }
  std::string headless_service() const { return name + "-nodes"; }
  std::string worker_set() const { return name + "-worker"; }
  std::string config_map() const { return name + "-scripts"; }
  std::string network_policy() const { return name + "-pods"; }
  std::string api_service() const { return name + "-api"; }
};

// Fails with kUsage, each error naming the option that mends it: a name that is no DNS label, a
// model that is no absolute path, a draft model outside of what is mounted, an address or a host
// that Kubernetes decides itself; as MakeGroupCommand does; and with kUnsupported where nodes have
// different numbers of ranks or, with a stage index, hold more than a stage.
Result<Facts> MakeFacts(const LaunchInput& input, const Options& options);

}  // namespace shardplan::kubernetes

#endif  // SHARDPLAN_LAUNCH_KUBERNETES_FACTS_H_
