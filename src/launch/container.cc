#include "launch/container.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <system_error>

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

// "7", "0-47"
bool IsRange(std::string_view text) {
  const size_t dash = text.find('-');
  const auto number = [](std::string_view digits) -> std::optional<int64_t> {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return value;
  };
  const auto first = number(text.substr(0, dash));
  if (dash == std::string_view::npos) return first && *first >= 0;
  const auto last = number(text.substr(dash + 1));
  return first && last && *first >= 0 && *first <= *last;
}

Status CheckCpus(std::string_view option, const std::string& list) {
  if (list.empty()) return {};
  bool good = true;
  for (size_t begin = 0; good && begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    good = IsRange(std::string_view(list).substr(begin, end - begin));
    begin = end + 1;
  }
  if (good) return {};
  return Refuse(option, list, "expected numbers and ranges such as 0-47,96-143");
}

Status CheckPath(std::string_view option, const std::string& path) {
  if (!path.empty() && path[0] != '/') {
    return Refuse(option, path, "expected an absolute path on the nodes");
  }
  if (path.empty() || path.find_first_not_of("/.") != std::string::npos) return {};
  return Refuse(option, path, "expected a directory below the root, found the root itself");
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
  address = BeforePort(address);
  HealthCheck health;
  // The certificate names the host that clients know, not the loopback.
  const std::string program = launch.tls ? fmt::format(
                                               "import ssl, urllib.request as r; "
                                               "r.urlopen(\"https://{}:{}/health\", timeout=5, "
                                               "context=ssl._create_unverified_context())",
                                               address, launch.port)
                                         : fmt::format(
                                               "import urllib.request as r; "
                                               "r.urlopen(\"http://{}:{}/health\", timeout=5)",
                                               address, launch.port);
  health.test = {"python3", "-c", program};
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
  const std::string root = MountedRoot(input.site.model_path);
  const bool whole = root == input.site.model_path;
  out->mounts.push_back({whole ? "<MODEL_PATH>" : root, whole ? "<MODEL_PATH>" : root, ""});
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

constexpr const char* kVisible = "CUDA_VISIBLE_DEVICES";

// Cards that a pasted command chose: Docker hands those in, and inside they are numbered anew, so
// that the variable would name others or none.
Status TakeCards(Container* out) {
  const auto found = std::find_if(out->env.begin(), out->env.end(),
                                  [](const auto& variable) { return variable.first == kVisible; });
  if (found == out->env.end()) return {};
  const std::string list = found->second;
  out->env.erase(found);
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    const std::string id = list.substr(begin, end - begin);
    const bool plain = !id.empty() && IsAlnum(id[0]) &&
                       std::all_of(id.begin(), id.end(),
                                   [](char c) { return IsAlnum(c) || c == '-' || c == '/'; });
    if (!plain) return Refuse(kVisible, list, "expected numbers or names of cards");
    if (static_cast<int64_t>(out->gpu_ids.size()) < out->gpus) out->gpu_ids.push_back(id);
    begin = end + 1;
  }
  if (static_cast<int64_t>(out->gpu_ids.size()) == out->gpus) return {};
  return Refuse(
      kVisible, list,
      fmt::format("expected the {} cards of a node, found {}", out->gpus, out->gpu_ids.size()));
}

// Keys and tokens come from the environment of who starts the container, without a value in a file.
void PassSecrets(const LaunchInput& input, const PreparedLaunch& launch, const NodeLaunch& node,
                 Container* out) {
  std::vector<std::string> names;
  if (input.plan.engine == "vllm" && node.serves_api) names.emplace_back("VLLM_API_KEY");
  for (const std::string& secret : input.site.secrets) {
    if (secret == "--hf-token") names.emplace_back("HF_TOKEN");
    if (!secret.starts_with('-')) names.push_back(secret);
  }
  for (const std::string& name : names) {
    const bool there = launch.Find(name) != nullptr ||
                       std::find(out->passed.begin(), out->passed.end(), name) != out->passed.end();
    if (!there) out->passed.push_back(name);
  }
}

// Less than what is sure to be needed: pinned memory, host caches, and a process of CUDA a rank.
Status CheckMemory(const Plan& plan, int64_t node, Bytes memory) {
  constexpr int64_t kLeastPerRank = kGiB;  // assumed: CUDA's and Python's libraries and heaps
  const int64_t ranks = std::count_if(plan.ranks.begin(), plan.ranks.end(),
                                      [&](const RankPlan& r) { return r.place.node == node; });
  const Bytes least = EstimateHostMemory(plan, node, Bytes()).bytes -
                      Bytes(kHostBytesPerRank - kLeastPerRank) * ranks - Bytes(kHostBytesPerNode);
  if (memory >= least) return {};
  return Fail(ErrorCode::kUsage, "--memory " + FormatGiB(memory),
              fmt::format("expected at least {}: pinned memory, host caches and {} a rank of node "
                          "{}",
                          FormatGiB(least), FormatGiB(Bytes(kLeastPerRank)), node),
              "leave it out: the default is derived from the plan");
}

Result<Container> MakeContainer(const LaunchInput& input, const ContainerOptions& options,
                                const PreparedLaunch& launch, const NodeLaunch& node) {
  Container out;
  out.name = fmt::format("{}-{}", launch.name, node.node);
  out.image = options.image.empty() ? DefaultImage(input) : options.image;
  if (!options.image_digest.empty()) out.image = out.image.substr(0, out.image.find('@'));
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
  SHARDPLAN_RETURN_IF_ERROR(TakeCards(&out));
  PassSecrets(input, launch, node, &out);
  out.shm_size = options.shm_size.value_or(Bytes(kDefaultShared));
  out.ipc = options.ipc;
  out.cpuset_cpus = options.cpuset_cpus;
  out.cpuset_mems = options.cpuset_mems;
  if (options.limit_memory && options.memory) {
    SHARDPLAN_RETURN_IF_ERROR(CheckMemory(input.plan, node.node, *options.memory));
  }
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
  if (HasFlag(node.argv, "--numa-bind")) out.capabilities.emplace_back("SYS_NICE");
  if (node.serves_api) out.health = MakeHealth(launch, input.plan, node.node);
  return out;
}

bool IsBelow(const std::string& path, const std::string& directory) {
  return path == directory ||
         path.starts_with(directory.ends_with('/') ? directory : directory + "/");
}

// Absolute paths in a command, with their flags: values, and models in objects.
std::vector<std::pair<std::string, std::string>> PathsOf(const std::vector<std::string>& argv) {
  static constexpr std::array<std::string_view, 3> kNoFiles = {"--root-path", "--fastapi-root-path",
                                                               "--served-model-name"};
  std::vector<std::pair<std::string, std::string>> out;
  std::string flag;
  for (const std::string& word : argv) {
    std::string value = word;
    if (word.starts_with("--")) {
      const size_t equals = std::min(word.find('='), word.size());
      flag = word.substr(0, equals);
      value = equals < word.size() ? word.substr(equals + 1) : "";
    }
    if (std::find(kNoFiles.begin(), kNoFiles.end(), flag) != kNoFiles.end()) continue;
    if (value.starts_with('{')) value = ModelOfObject(value);
    if (value.starts_with('/')) out.emplace_back(flag, value);
  }
  return out;
}

bool IsMounted(const std::string& path, const LaunchInput& input, const ContainerOptions& options) {
  if (!input.site.model_path.empty() && IsBelow(path, MountedRoot(input.site.model_path))) {
    return true;
  }
  return std::any_of(options.mounts.begin(), options.mounts.end(),
                     [&](const std::string& mount) { return IsBelow(path, mount); });
}

Status CheckDraft(const LaunchInput& input, const ContainerOptions& options,
                  const Containers& containers) {
  for (const auto& [flag, path] : PathsOf(containers.nodes[0].command)) {
    if (flag != "--speculative-config" && flag != "--speculative-draft-model-path") continue;
    if (IsMounted(path, input, options)) continue;
    return tl::unexpected(DraftNotMounted(path));
  }
  return {};
}

// Files that the command names and no container sees.
void ExplainPaths(const LaunchInput& input, const ContainerOptions& options, Containers* out) {
  for (const auto& [flag, path] : PathsOf(out->nodes[0].command)) {
    if (IsMounted(path, input, options)) continue;
    const std::string parent = path.substr(0, std::max<size_t>(1, path.rfind('/')));
    out->notes.push_back(
        fmt::format("{} names {}, which the containers do not see unless it is in the image: mount "
                    "it with --mount {}.",
                    Printable(flag), Printable(path), Printable(parent)));
  }
}

void Explain(const LaunchInput& input, const ContainerOptions& options, Containers* out) {
  const Container& first = out->nodes[0];
  if (first.image.find('@') == std::string::npos) {
    out->notes.push_back(fmt::format(
        "The image is named by its tag ({}), which can be moved: pin it with --image-digest, as "
        "`docker buildx imagetools inspect {}` prints it.",
        first.image, first.image));
  }
  for (const Container& node : out->nodes) {
    const auto index = static_cast<int64_t>(&node - out->nodes.data());
    if (node.health) {
      out->assumptions.push_back(fmt::format("Health checks count after {} s: {}.",
                                             FormatCount(node.health->start_seconds),
                                             EstimateStart(input.plan, index).rule));
    }
    if (node.memory && !options.memory) {
      out->assumptions.push_back(
          fmt::format("Memory limit of node {}: {}: {} (the last two assumed); --memory SIZE or "
                      "none sets another.",
                      index, FormatGiB(*node.memory),
                      EstimateHostMemory(input.plan, index, node.shm_size).rule));
    }
  }
  if (options.memory && options.limit_memory) {
    const HostEstimate estimate = EstimateHostMemory(input.plan, 0, first.shm_size);
    if (*options.memory < estimate.bytes) {
      out->notes.push_back(fmt::format(
          "--memory {} is less than the {} that a node is estimated to need: {}. The kernel ends "
          "what goes beyond a limit.",
          FormatGiB(*options.memory), FormatGiB(estimate.bytes), estimate.rule));
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
  ExplainPaths(input, options, out);
  if (!first.passed.empty()) {
    out->notes.push_back(
        fmt::format("Handed to the containers from the environment that starts them, where they "
                    "are set: {}. The files hold no keys.",
                    fmt::join(first.passed, ", ")));
  }
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

std::string DefaultImage(const LaunchInput& input) {
  const LaunchSite& site = input.site;
  if (!site.image.empty()) {
    return site.image_digest.empty() ? site.image : site.image + "@" + site.image_digest;
  }
  if (site.engine_version.empty()) return DefaultImage(input.plan);
  std::string version = site.engine_version;
  if (version.starts_with('v')) version.erase(0, 1);
  // Tags have three numbers.
  const bool two = std::count(version.begin(), version.end(), '.') == 1 &&
                   version.find_first_not_of("0123456789.") == std::string::npos;
  if (two) version += ".0";
  Plan named;
  named.engine = input.plan.engine;
  named.engine_version = version;
  return DefaultImage(named);
}

std::string MountedRoot(std::string model) {
  constexpr std::string_view kSnapshots = "/snapshots";
  const std::string whole = model;
  while (model.size() > 1 && model.ends_with('/')) model.pop_back();
  const size_t slash = model.rfind('/');
  if (slash == std::string::npos) return whole;
  const std::string above = model.substr(0, slash);
  if (!above.ends_with(kSnapshots) || above.size() == kSnapshots.size()) return whole;
  return above.substr(0, above.size() - kSnapshots.size());
}

Result<Containers> MakeContainers(const LaunchInput& input, const ContainerOptions& options) {
  SHARDPLAN_RETURN_IF_ERROR(CheckOptions(options));
  SHARDPLAN_RETURN_IF_ERROR(CheckPath("--model-path", input.site.model_path));
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
  if (options.image.empty()) {
    const std::string image = DefaultImage(input);
    SHARDPLAN_RETURN_IF_ERROR(CheckImage(image.substr(0, image.find('@'))));
    if (!input.site.image_digest.empty()) {
      SHARDPLAN_RETURN_IF_ERROR(CheckDigest(input.site.image_digest));
    }
  }
  for (const NodeLaunch& node : out.launch.nodes) {
    SHARDPLAN_ASSIGN_OR_RETURN(Container container,
                               MakeContainer(input, options, out.launch, node));
    out.nodes.push_back(std::move(container));
  }
  SHARDPLAN_RETURN_IF_ERROR(CheckDraft(input, options, out));
  Explain(input, options, &out);
  return out;
}

}  // namespace shardplan
