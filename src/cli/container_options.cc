#include "cli/container_options.h"

#include <string>
#include <utility>

#include "shardplan/base/units.h"

namespace shardplan::cli {

void AddContainerOptions(OptionSet* set, ContainerOptions* out) {
  set->Group("Containers");
  set->Text("--image", "NAME:TAG", "Image (default: the engine's own, of the version planned)",
            [out](std::string text) { out->image = std::move(text); });
  set->Text("--image-digest", "sha256:…", "Pin the image, whatever becomes of its tag",
            [out](std::string text) { out->image_digest = std::move(text); });
  set->Text("--stage-index", "DIR",
            "On the nodes: what `launch stage-index` wrote; mounted over the model's index",
            [out](std::string text) { out->stage_index = std::move(text); });
  set->Repeated("--mount", "DIR", "Mount another directory, read-only, where it is; repeatable",
                [out](const std::string& text) -> Status {
                  out->mounts.push_back(text);
                  return {};
                });
  const auto size = [set](const char* name, const char* help, std::optional<Bytes>* target) {
    set->Value(name, "SIZE", help, [target](const std::string& text) -> Status {
      SHARDPLAN_ASSIGN_OR_RETURN(const Bytes bytes, ParseBytes(text));
      *target = bytes;
      return {};
    });
  };
  size("--shm-size", "/dev/shm of a container (default: 32GiB)", &out->shm_size);
  set->Text("--ipc", "host|private|shareable", "IPC namespace; host needs no --shm-size",
            [out](std::string text) { out->ipc = std::move(text); });
  set->Text("--cpuset-cpus", "LIST", "CPUs of a container: 0-47",
            [out](std::string text) { out->cpuset_cpus = std::move(text); });
  set->Text("--cpuset-mems", "LIST", "NUMA nodes of its memory (docker alone)",
            [out](std::string text) { out->cpuset_mems = std::move(text); });
  set->Value("--memory", "SIZE|none",
             "Host memory of a container, without swap (default: derived from the plan)",
             [out](const std::string& text) -> Status {
               out->limit_memory = text != "none";
               if (!out->limit_memory) return {};
               SHARDPLAN_ASSIGN_OR_RETURN(const Bytes bytes, ParseBytes(text));
               out->memory = bytes;
               return {};
             });
  set->Count("--pids-limit", "Processes and threads of a container (default: 16,384)", 1,
             [out](int64_t count) { out->pids_limit = count; });
}

}  // namespace shardplan::cli
