#include "launch/container.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "launch/start_estimate.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

constexpr int64_t kDefaultShared = 32 * kGiB;
constexpr int64_t kDefaultPids = 16384;
// A start takes as long as a cup of coffee at least: three tries, then a person looks.
constexpr int64_t kRestarts = 2;

bool IsAlnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

Status Refuse(std::string_view option, std::string_view text, std::string message,
              std::string hint = "") {
  return Fail(ErrorCode::kUsage, fmt::format("{} {}", option, Printable(text)), std::move(message),
              std::move(hint));
}

// Characters of a reference as Docker's grammar has them; its own parser knows the rest.
Status CheckImage(const std::string& image) {
  const bool plain = std::all_of(image.begin(), image.end(), [](char c) {
    return IsAlnum(c) || std::string_view("./:_-").find(c) != std::string_view::npos;
  });
  if (plain && IsAlnum(image[0]) && IsAlnum(image.back()) && image.size() <= 255) return {};
  return Refuse("--image", image, "expected NAME:TAG",
                "a digest is given with --image-digest sha256:…");
}

Status CheckDigest(const std::string& digest) {
  constexpr size_t kDigits = 64;
  const bool sha = digest.starts_with("sha256:") && digest.size() == 7 + kDigits &&
                   digest.find_first_not_of("0123456789abcdef", 7) == std::string::npos;
  if (sha) return {};
  return Refuse("--image-digest", digest, "expected sha256: and 64 lower-case hexadecimal digits");
}

Status CheckCpus(std::string_view option, const std::string& list) {
  if (list.empty()) return {};
  const bool plain = list.find_first_not_of("0123456789,-") == std::string::npos;
  if (plain && list[0] >= '0' && list[0] <= '9') return {};
  return Refuse(option, list, "expected numbers and ranges such as 0-47,96-143");
}

Status CheckPath(std::string_view option, const std::string& path) {
  if (path.empty() || path[0] == '/') return {};
  return Refuse(option, path, "expected an absolute path on the nodes");
}

Status CheckOptions(const ContainerOptions& options) {
  if (!options.image.empty()) SHARDPLAN_RETURN_IF_ERROR(CheckImage(options.image));
  if (!options.image_digest.empty()) SHARDPLAN_RETURN_IF_ERROR(CheckDigest(options.image_digest));
  SHARDPLAN_RETURN_IF_ERROR(CheckCpus("--cpuset-cpus", options.cpuset_cpus));
  SHARDPLAN_RETURN_IF_ERROR(CheckCpus("--cpuset-mems", options.cpuset_mems));
  SHARDPLAN_RETURN_IF_ERROR(CheckPath("--stage-index", options.stage_index));
  for (const std::string& path : options.mounts) {
    SHARDPLAN_RETURN_IF_ERROR(CheckPath("--mount", path));
  }
  if (options.ipc.empty() || options.ipc == "host" || options.ipc == "private" ||
      options.ipc == "shareable") {
    return {};
  }
  return Refuse("--ipc", options.ipc, "expected host, private or shareable");
}

bool Has(const std::vector<std::string>& argv, std::string_view flag) {
  return std::find(argv.begin(), argv.end(), flag) != argv.end();
}

// Replaces what `--host` says: inside a network of its own the API listens on all addresses.
void ListenEverywhere(std::vector<std::string>* argv) {
  const auto flag = std::find(argv->begin(), argv->end(), "--host");
  if (flag != argv->end() && flag + 1 != argv->end()) *(flag + 1) = "0.0.0.0";
}

// The engine is Python, so there is one in its image; curl need not be.
HealthCheck MakeHealth(const PreparedLaunch& launch, const Plan& plan, int64_t node) {
  std::string address = launch.api_host == "0.0.0.0" || !launch.multi_node() ? "127.0.0.1"
                        : launch.api_host == "::"                            ? "::1"
                                                                             : launch.api_host;
  if (address.find(':') != std::string::npos && address[0] != '[') address = "[" + address + "]";
  HealthCheck health;
  health.test = {"python3", "-c",
                 fmt::format("import urllib.request as r; "
                             "r.urlopen(\"http://{}:{}/health\", timeout=5)",
                             address, launch.port)};
  health.start_seconds = EstimateStart(plan, node).seconds;
  return health;
}

// Where `launch stage-index` wrote the index of a node's stages: "stage-1", "stages-0-1".
std::string CutOf(const NodeLaunch& node) {
  std::string name = node.stages.size() == 1 ? "stage" : "stages";
  for (const int64_t stage : node.stages) name += fmt::format("-{}", stage);
  return name;
}

Status AddMounts(const LaunchInput& input, const ContainerOptions& options, const NodeLaunch& node,
                 Container* out) {
  out->mounts.push_back({"<MODEL_PATH>", "<MODEL_PATH>", ""});
  if (!options.stage_index.empty()) {
    if (static_cast<int64_t>(node.stages.size()) >= input.plan.sizes.pp) {
      return Fail(ErrorCode::kUsage, "--stage-index",
                  fmt::format("node {} runs every stage and reads the whole index", node.node),
                  "leave it out");
    }
    constexpr const char* kIndex = "model.safetensors.index.json";
    out->mounts.push_back(
        {JoinPath(options.stage_index, CutOf(node) + "/" + kIndex), "<MODEL_PATH>", kIndex});
  }
  for (const std::string& path : options.mounts) out->mounts.push_back({path, path, ""});
  return {};
}

Result<Container> MakeContainer(const LaunchInput& input, const ContainerOptions& options,
                                const PreparedLaunch& launch, const NodeLaunch& node) {
  Container out;
  out.name = fmt::format("{}-{}", launch.name, node.node);
  out.image = options.image.empty() ? DefaultImage(input.plan) : options.image;
  if (!options.image_digest.empty()) out.image += "@" + options.image_digest;
  out.host_network = launch.multi_node();
  out.publish_address = launch.api_host;
  out.port = launch.port;
  std::vector<std::string> argv = node.argv;
  if (!out.host_network) ListenEverywhere(&argv);
  out.entrypoint = argv[0];
  out.command.assign(argv.begin() + 1, argv.end());
  for (const SiteVariable& variable : launch.variables) {
    if (variable.exported) out.env.emplace_back(variable.name, "<" + variable.name + ">");
  }
  out.env.insert(out.env.end(), node.env.begin(), node.env.end());
  SHARDPLAN_RETURN_IF_ERROR(AddMounts(input, options, node, &out));
  out.gpus = node.gpus;
  out.shm_size = options.shm_size.value_or(Bytes(kDefaultShared));
  out.ipc = options.ipc;
  out.cpuset_cpus = options.cpuset_cpus;
  out.cpuset_mems = options.cpuset_mems;
  if (options.limit_memory) {
    out.memory =
        options.memory.value_or(EstimateHostMemory(input.plan, node.node, out.shm_size).bytes);
  }
  out.pids_limit = options.pids_limit.value_or(kDefaultPids);
  out.restarts = kRestarts;
  if (launch.rdma) {
    out.devices.emplace_back("/dev/infiniband");
    out.capabilities.emplace_back("IPC_LOCK");
  }
  // Docker's seccomp profile keeps mbind and set_mempolicy behind it.
  if (Has(node.argv, "--numa-bind")) out.capabilities.emplace_back("SYS_NICE");
  if (node.serves_api) out.health = MakeHealth(launch, input.plan, node.node);
  return out;
}

void Explain(const LaunchInput& input, const ContainerOptions& options, Containers* out) {
  const Container& first = out->nodes[0];
  if (options.image_digest.empty()) {
    out->notes.push_back(fmt::format(
        "The image is named by its tag ({}), which can be moved: pin it with --image-digest, as "
        "`docker buildx imagetools inspect {}` prints it.",
        first.image, first.image));
  }
  for (const Container& node : out->nodes) {
    const auto index = static_cast<int64_t>(&node - out->nodes.data());
    if (node.health) {
      out->assumptions.push_back(fmt::format(
          "Health checks count after {} s: {} (both rates assumed).",
          FormatCount(node.health->start_seconds), EstimateStart(input.plan, index).rule));
    }
    if (node.memory && !options.memory) {
      out->assumptions.push_back(
          fmt::format("Memory limit of node {}: {}: {} (the last two assumed); --memory SIZE or "
                      "none sets another.",
                      index, FormatGiB(*node.memory),
                      EstimateHostMemory(input.plan, index, node.shm_size).rule));
    }
  }
  if (!options.shm_size && first.ipc != "host") {
    out->assumptions.push_back(
        fmt::format("/dev/shm of {}: assumed to do for NCCL and the queues between the processes.",
                    FormatGiB(first.shm_size)));
  }
  if (!options.pids_limit) {
    out->assumptions.push_back(
        fmt::format("At most {} processes and threads: assumed to do for compilation, which starts "
                    "dozens of workers a rank.",
                    FormatCount(first.pids_limit)));
  }
  out->notes.push_back(fmt::format(
      "A container that fails is started {} times more and then stays down: a start takes long, "
      "and what failed three times needs a person.",
      first.restarts));
  if (!first.host_network) return;
  out->notes.push_back(fmt::format(
      "The containers are on the network of their hosts. The API listens on {} alone; the ports "
      "between the nodes are open to that network.",
      out->launch.api_host));
}

}  // namespace

std::string DefaultImage(const Plan& plan) {
  return fmt::format("{}:v{}", plan.engine == "sglang" ? "lmsysorg/sglang" : "vllm/vllm-openai",
                     plan.engine_version);
}

Result<Containers> MakeContainers(const LaunchInput& input, const ContainerOptions& options) {
  SHARDPLAN_RETURN_IF_ERROR(CheckOptions(options));
  if (input.plan.gpu_name.starts_with("AMD")) {
    return Fail(ErrorCode::kUnsupported, Printable(input.plan.gpu_name),
                "expected an NVIDIA card: containers for others are not written yet");
  }
  Containers out;
  SHARDPLAN_ASSIGN_OR_RETURN(out.launch, PrepareLaunch(input));
  if (out.launch.Find("MODEL_PATH") == nullptr) {
    return Fail(ErrorCode::kUnsupported, "MODEL",
                "expected a directory to mount, found a model that is served by its name",
                "say where it lies on the nodes: --model-path DIR");
  }
  SHARDPLAN_RETURN_IF_ERROR(
      CheckImage(options.image.empty() ? DefaultImage(input.plan) : options.image));
  for (const NodeLaunch& node : out.launch.nodes) {
    SHARDPLAN_ASSIGN_OR_RETURN(Container container,
                               MakeContainer(input, options, out.launch, node));
    out.nodes.push_back(std::move(container));
  }
  Explain(input, options, &out);
  return out;
}

}  // namespace shardplan
