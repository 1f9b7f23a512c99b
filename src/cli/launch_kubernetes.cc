// shardplan launch kubernetes: manifests for a LeaderWorkerSet or StatefulSets.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "cli/command.h"
#include "cli/launch_target.h"
#include "launch/kubernetes/manifests.h"
#include "launch/kubernetes/names.h"
#include "shardplan/base/units.h"

namespace shardplan::cli {
namespace {

using kubernetes::Kind;
using kubernetes::Options;

// The option and its text are the subject already.
tl::unexpected<Error> Refuse(const std::string& expected) {
  return Fail(ErrorCode::kUsage, "", "expected " + expected);
}

using Pair = std::pair<std::string, std::string>;

// "KEY=VALUE" of a label.
Result<Pair> ParseLabel(const std::string& text) {
  const size_t equals = text.find('=');
  Pair out{text.substr(0, equals), equals == text.npos ? "" : text.substr(equals + 1)};
  if (equals == text.npos || !kubernetes::IsQualifiedName(out.first) ||
      !kubernetes::IsLabelValue(out.second)) {
    return Refuse("a label such as team=search");
  }
  return out;
}

// "KEY", "KEY=VALUE", either with ":NoSchedule".
Result<kubernetes::Toleration> ParseToleration(const std::string& text) {
  kubernetes::Toleration out;
  std::string rest = text;
  if (const size_t colon = rest.rfind(':'); colon != rest.npos) {
    out.effect = rest.substr(colon + 1);
    rest.resize(colon);
    if (out.effect != "NoSchedule" && out.effect != "NoExecute" &&
        out.effect != "PreferNoSchedule") {
      return Refuse("an effect such as NoSchedule behind the colon");
    }
  }
  const size_t equals = rest.find('=');
  out.key = rest.substr(0, equals);
  if (equals != rest.npos) out.value = rest.substr(equals + 1);
  if (!kubernetes::IsQualifiedName(out.key) || !kubernetes::IsLabelValue(out.value)) {
    return Refuse("a taint such as nvidia.com/gpu:NoSchedule");
  }
  return out;
}

// "rdma/hca=1".
Result<std::pair<std::string, int64_t>> ParseResource(const std::string& text) {
  const size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  if (equals == text.npos || name.find('/') == name.npos || !kubernetes::IsQualifiedName(name)) {
    return Refuse("a resource such as rdma/hca=1");
  }
  SHARDPLAN_ASSIGN_OR_RETURN(const int64_t count, ParseCount(text.substr(equals + 1), 1));
  return std::pair(name, count);
}

// A size of more than nothing; "/s" may follow a rate.
Result<Bytes> ParseSize(std::string text) {
  if (text.ends_with("/s")) text.resize(text.size() - 2);
  SHARDPLAN_ASSIGN_OR_RETURN(const Bytes size, ParseBytes(text));
  if (size <= Bytes()) return Refuse("a size above zero");
  return size;
}

void AddPlace(OptionSet* set, Options* out) {
  set->Value("--kind", "KIND", "leaderworkerset (default) or statefulset",
             [out](const std::string& text) -> Status {
               if (text != "leaderworkerset" && text != "statefulset") {
                 return Refuse("leaderworkerset or statefulset");
               }
               out->kind = text == "statefulset" ? Kind::kStatefulSet : Kind::kLeaderWorkerSet;
               return {};
             });
  set->Value("--namespace", "NAME", "Namespace (default: the one kubectl is set to)",
             [out](const std::string& text) -> Status {
               if (!kubernetes::IsDnsLabel(text)) {
                 return Refuse("at most 63 lower-case letters, digits and '-'");
               }
               out->namespace_name = text;
               return {};
             });
  set->Repeated("--label", "KEY=VALUE", "Label of all resources; may be repeated",
                [out](const std::string& text) -> Status {
                  SHARDPLAN_ASSIGN_OR_RETURN(Pair label, ParseLabel(text));
                  out->labels.push_back(std::move(label));
                  return {};
                });
  set->Repeated("--node-selector", "KEY=VALUE", "Label that nodes must have; may be repeated",
                [out](const std::string& text) -> Status {
                  SHARDPLAN_ASSIGN_OR_RETURN(Pair label, ParseLabel(text));
                  out->node_selector.push_back(std::move(label));
                  return {};
                });
  set->Value("--gpu-product", "VALUE", "Label nvidia.com/gpu.product that nodes must have",
             [out](const std::string& text) -> Status {
               if (text.empty() || !kubernetes::IsLabelValue(text)) {
                 return Refuse("a label's value such as NVIDIA-H20");
               }
               out->gpu_product = text;
               return {};
             });
  set->Repeated("--toleration", "KEY[=VALUE][:EFFECT]", "Taint that pods tolerate; may be repeated",
                [out](const std::string& text) -> Status {
                  SHARDPLAN_ASSIGN_OR_RETURN(auto toleration, ParseToleration(text));
                  out->tolerations.push_back(std::move(toleration));
                  return {};
                });
  set->Value("--topology-key", "KEY", "Node label whose value all nodes of the group share",
             [out](const std::string& text) -> Status {
               if (!kubernetes::IsQualifiedName(text)) {
                 return Refuse("a label's key such as topology.kubernetes.io/zone");
               }
               out->topology_key = text;
               return {};
             });
  set->Value("--runtime-class", "NAME", "runtimeClassName of the pods",
             [out](const std::string& text) -> Status {
               if (!kubernetes::IsDnsSubdomain(text)) return Refuse("the name of a class");
               out->runtime_class = text;
               return {};
             });
}

void AddStorage(OptionSet* set, Options* out) {
  set->Value("--pvc", "NAME", "Claim that holds the model (default: a path of the node)",
             [out](const std::string& text) -> Status {
               if (!kubernetes::IsDnsSubdomain(text)) return Refuse("the name of a claim");
               out->pvc = text;
               return {};
             });
  set->Text("--pvc-path", "DIR", "Where in the claim the model is (default: its root)",
            [out](std::string text) { out->pvc_path = std::move(text); });
  set->Repeated("--mount", "DIR", "Another directory of the nodes, read-only; may be repeated",
                [out](const std::string& text) -> Status {
                  out->mounts.push_back(text);
                  return {};
                });
  set->Text("--stage-index", "DIR", "Directory of the nodes with an index a stage: stage-0/, …",
            [out](std::string text) { out->stage_index = std::move(text); });
  set->Text("--completion-marker", "FILE", "File in the model's directory that ends its copying",
            [out](std::string text) { out->completion_marker = std::move(text); });
}

void AddResources(OptionSet* set, Options* out) {
  set->Text("--image", "NAME:TAG", "Image (default: the engine's own, of the version planned)",
            [out](std::string text) { out->image = std::move(text); });
  set->Text("--image-digest", "sha256:…", "Pin the image, whatever becomes of its tag",
            [out](std::string text) { out->image_digest = std::move(text); });
  set->Value("--replicas", "N",
             "Groups of a LeaderWorkerSet, each the whole deployment (default: 1)",
             [out](const std::string& text) -> Status {
               // The field is an int32 (LeaderWorkerSetSpec, leaderworkerset.x-k8s.io/v1).
               constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
               const Result<int64_t> count = ParseCount(text, 1);
               if (!count || *count > kMost) {
                 return Refuse(
                     fmt::format("a whole number from 1 to {}, the most of a Kubernetes "
                                 "field",
                                 FormatCount(kMost)));
               }
               out->replicas = *count;
               return {};
             });
  set->Repeated("--rdma-resource", "NAME=N", "Resource of the network: rdma/hca=1; may be repeated",
                [out](const std::string& text) -> Status {
                  SHARDPLAN_ASSIGN_OR_RETURN(auto resource, ParseResource(text));
                  out->rdma_resources.push_back(std::move(resource));
                  return {};
                });
  set->Flag("--host-network", "Use the node's network, as RoCE without a device plugin needs",
            [out] { out->host_network = true; });
  set->Value("--api-key-secret", "NAME[/KEY]",
             "Secret with the API's key (default KEY: api-key); without it the API asks for none",
             [out](const std::string& text) -> Status {
               const size_t slash = std::min(text.find('/'), text.size());
               const std::string name = text.substr(0, slash);
               const std::string key =
                   slash < text.size() ? text.substr(slash + 1) : Options().api_key_entry;
               if (!kubernetes::IsDnsSubdomain(name) || !kubernetes::IsSecretKey(key)) {
                 return Refuse("a Secret and a key in it such as vllm/api-key");
               }
               out->api_key_secret = name;
               out->api_key_entry = key;
               return {};
             });
  const auto size = [set](const char* name, const char* help, std::optional<Bytes>* to) {
    set->Value(name, "SIZE", help, [to](const std::string& text) -> Status {
      SHARDPLAN_ASSIGN_OR_RETURN(*to, ParseSize(text));
      return {};
    });
  };
  size("--shm-size", "Size of /dev/shm (default: 32GiB)", &out->shm_size);
  size("--memory", "Memory of a pod (default: what the plan needs)", &out->memory);
  set->Count("--cpus", "CPUs of a pod, as request and limit", 1,
             [out](int64_t count) { out->cpus = count; });
  size("--read-rate", "Bytes a second that a node reads (default: by the rates of the plan)",
       &out->read_rate);
  set->Count("--startup-seconds", "Time to start (default: from what a node reads)", 60,
             [out](int64_t seconds) { out->startup_seconds = seconds; });
}

}  // namespace

Command AddLaunchKubernetes(CLI::App* group) {
  const auto options = std::make_shared<Options>();
  LaunchTarget target;
  target.name = "kubernetes";
  target.description =
      "Manifests for Kubernetes: a LeaderWorkerSet, or StatefulSets\n\n"
      "Examples:\n"
      "  shardplan launch kubernetes /models/Kimi-K3 --gpu h20-141 --tp 8 --pp 2 -o deploy/\n"
      "  shardplan launch kubernetes /models/Kimi-K3 --gpu h20-141 --tp 8 --pp 2 \\\n"
      "      --kind statefulset --pvc models --rdma-resource rdma/hca=1";
  target.add_options = [options](OptionSet* set) {
    set->Group("Kubernetes");
    AddPlace(set, options.get());
    AddStorage(set, options.get());
    AddResources(set, options.get());
  };
  target.make = [options](const LaunchInput& input) {
    return kubernetes::MakeManifests(input, *options);
  };
  target.image = [options] { return options->image; };
  target.finds_master = true;
  return AddLaunchTarget(group, std::move(target));
}

}  // namespace shardplan::cli
