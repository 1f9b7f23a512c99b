// The container of each node, before it is written for docker or compose.
#ifndef SHARDPLAN_LAUNCH_CONTAINER_H_
#define SHARDPLAN_LAUNCH_CONTAINER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launch/node_launch.h"
#include "shardplan/base/bytes.h"
#include "shardplan/base/result.h"

namespace shardplan {

struct ContainerOptions {
  std::string image;                // empty: DefaultImage
  std::string image_digest;         // "sha256:…"
  std::string stage_index;          // directory on the nodes; empty: none
  std::vector<std::string> mounts;  // further directories, read-only, where they are
  std::optional<Bytes> shm_size;    // 32 GiB
  std::string ipc;                  // "host", "private", "shareable"; empty: docker's default
  std::string cpuset_cpus;          // "0-47"
  std::string cpuset_mems;          // "0"
  std::optional<Bytes> memory;      // of a node; absent: derived
  bool limit_memory = true;         // false: no limit
  std::optional<int64_t> pids_limit;
};

struct ContainerMount {
  std::string source;  // may be a placeholder, as the target
  std::string target;
  std::string below;  // of the target: "model.safetensors.index.json"; empty: the target itself
};

struct HealthCheck {
  std::vector<std::string> test;  // program first
  int64_t start_seconds = 0;      // in which failures do not count
};

struct Container {
  std::string name;
  std::string image;  // with its digest, where there is one
  std::string entrypoint;
  std::vector<std::string> command;
  std::vector<std::pair<std::string, std::string>> env;  // values may be placeholders
  std::vector<ContainerMount> mounts;                    // read-only
  std::vector<std::string> passed;                       // of the caller's environment, if set
  int64_t gpus = 0;
  std::vector<std::string> gpu_ids;  // those; empty: any of them
  bool host_network = false;
  std::string publish_address;  // of the API, without the host's network
  int64_t port = 0;
  Bytes shm_size;
  std::string ipc;
  std::string cpuset_cpus;
  std::string cpuset_mems;
  std::optional<Bytes> memory;  // no swap beyond it
  int64_t pids_limit = 0;
  int64_t restarts = 0;  // after failures
  std::vector<std::string> devices;
  std::vector<std::string> capabilities;
  std::optional<HealthCheck> health;
};

struct Containers {
  PreparedLaunch launch;
  std::vector<Container> nodes;
  std::vector<std::string> assumptions;
  std::vector<std::string> notes;
};

// One container a node. Several nodes share the host's network and RDMA devices; one publishes its
// API on the loopback address. The model is mounted where it lies on the node, so that the command
// stays the plan's.
//
// Fails as PrepareLaunch does; with kUsage for an image, a digest, a CPU list or a path that cannot
// be one, and for a stage index where a node runs every stage; with kUnsupported for a model that
// is served by name without --model-path and for a card that is not NVIDIA's.
Result<Containers> MakeContainers(const LaunchInput& input, const ContainerOptions& options);

// "vllm/vllm-openai:v0.31.0"
std::string DefaultImage(const Plan& plan);

// That of a pasted command, else the engine's own of the version that was asked for; with the
// digest that the command has.
std::string DefaultImage(const LaunchInput& input);

// What has to be mounted for a model: of a Hugging Face cache (…/snapshots/REVISION) the whole
// repository, whose snapshots are links to ../../blobs.
std::string MountedRoot(std::string model);

}  // namespace shardplan

#endif  // SHARDPLAN_LAUNCH_CONTAINER_H_
