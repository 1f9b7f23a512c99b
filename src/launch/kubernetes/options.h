// What a person may say of the cluster that nothing can derive.
#ifndef SHARDPLAN_LAUNCH_KUBERNETES_OPTIONS_H_
#define SHARDPLAN_LAUNCH_KUBERNETES_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shardplan/base/bytes.h"

namespace shardplan::kubernetes {

enum class Kind { kLeaderWorkerSet, kStatefulSet };

struct Toleration {
  std::string key;
  std::string value;   // empty: any
  std::string effect;  // "NoSchedule", …; empty: all
};

struct Options {
  Kind kind = Kind::kLeaderWorkerSet;
  int64_t replicas = 1;        // groups, each the whole deployment
  std::string image;           // empty: the engine's own, of the version that was planned
  std::string image_digest;    // "sha256:…"
  std::string namespace_name;  // empty: the one kubectl is set to
  std::vector<std::pair<std::string, std::string>> labels;
  std::vector<std::pair<std::string, std::string>> node_selector;
  std::string gpu_product;  // the value of nvidia.com/gpu.product
  std::vector<Toleration> tolerations;
  std::string topology_key;  // nodes of a group share its value: "topology.kubernetes.io/zone"
  std::string runtime_class;
  std::string pvc;                  // a claim with the model; empty: a path of the host
  std::string pvc_path;             // below the claim
  std::vector<std::string> mounts;  // other paths of the host, read-only
  std::string stage_index;          // a path of the host with stage-0/, stage-1/, …
  std::string completion_marker;    // a file in the model's directory
  std::vector<std::pair<std::string, int64_t>> rdma_resources;
  bool host_network = false;
  std::string api_key_secret;             // a Secret with the API's key; empty: none
  std::string api_key_entry = "api-key";  // its key in the Secret
  std::optional<Bytes> shm_size;
  std::optional<Bytes> memory;
  std::optional<int64_t> cpus;
  std::optional<Bytes> read_rate;          // a second, of one node
  std::optional<int64_t> startup_seconds;  // that the engine may take before it is restarted
};

}  // namespace shardplan::kubernetes

#endif  // SHARDPLAN_LAUNCH_KUBERNETES_OPTIONS_H_
