// What artefacts are made from.
#ifndef SHARDPLAN_LAUNCH_LAUNCH_INPUT_H_
#define SHARDPLAN_LAUNCH_LAUNCH_INPUT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shardplan/model/model.h"
#include "shardplan/plan/plan.h"

namespace shardplan {

// What carries the traffic between nodes.
enum class Fabric {
  kRoce,        // RDMA over Ethernet: adapters and the index of an address
  kInfiniband,  // adapters alone
  kSocket,      // TCP
};

// Facts about the place that nothing can derive. What is empty becomes a placeholder with a name,
// which the artefact checks before anything starts.
struct LaunchSite {
  std::string name;                // of the deployment: "kimi-k3"; a DNS label
  std::string engine_version;      // that was asked for: "0.9.2"; empty: the plan's
  std::string image;               // where the target is given none: "vllm/vllm-openai:v0.31.0"
  std::string image_digest;        // of that one: "sha256:…"
  std::vector<std::string> hosts;  // of the nodes, in order; none or one a node
  // Where the checkpoint lies on every node, absolute. Empty: nobody said so, or the engine gets it
  // by name; then the commands of the plan hold "<MODEL_PATH>", or the name.
  std::string model_path;
  std::string master_addr;             // of node 0
  std::string socket_ifname;           // NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME: "bond0"
  std::string ib_hca;                  // NCCL_IB_HCA: "mlx5_0,mlx5_1"
  std::optional<int64_t> gid_index;    // NCCL_IB_GID_INDEX: 3 for RoCE v2 on most machines
  Fabric fabric = Fabric::kRoce;       // between nodes
  int64_t port = 8000;                 // of the API
  std::string api_host = "127.0.0.1";  // that the API listens on
  // Ports between the nodes that a pasted command has, by flag: "--master-port", "1234".
  std::vector<std::pair<std::string, std::string>> ports;
  // Keys and tokens that a pasted command had, as EngineSettings::command_secrets names them.
  std::vector<std::string> secrets;
};

// All of it has to outlive the call.
struct LaunchInput {
  const Plan& plan;
  const Model& model;
  const LaunchSite& site;
};

}  // namespace shardplan

#endif  // SHARDPLAN_LAUNCH_LAUNCH_INPUT_H_
