#include "plan/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "engine/quantization_argument.h"
#include "engine/vllm/draft_fit.h"
#include "engine/vllm/prefetch.h"
#include "model/draft_class.h"
#include "plan/cluster_use.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

constexpr int64_t kMostRanks = 8192;
constexpr int64_t kMostRequests = 1'000'000;
constexpr int64_t kMostLayers = 1'000'000;

}  // namespace

Status CheckSizes(const Deployment& d) {
  const std::pair<const char*, int64_t> sizes[] = {{"--tensor-parallel-size", d.sizes.tp},
                                                   {"--pipeline-parallel-size", d.sizes.pp},
                                                   {"--data-parallel-size", d.sizes.dp},
                                                   {"--decode-context-parallel-size", d.sizes.dcp}};
  for (const auto& [flag, value] : sizes) {
    if (value < 1 || value > kMostRanks) {
      return Fail(ErrorCode::kUsage, fmt::format("{} {}", flag, value),
                  fmt::format("expected a number from 1 to {}", FormatCount(kMostRanks)));
    }
  }
  if (d.sizes.tp * d.sizes.pp > kMostRanks || d.sizes.world() > kMostRanks) {
    return Fail(ErrorCode::kUsage, "layout",
                fmt::format("expected at most {} ranks in all", FormatCount(kMostRanks)));
  }
  if ((d.nodes && (*d.nodes < 1 || *d.nodes > kMostRanks)) ||
      (d.gpus_per_node && (*d.gpus_per_node < 1 || *d.gpus_per_node > 1024))) {
    return Fail(ErrorCode::kUsage, "--nodes, --gpus-per-node",
                fmt::format("expected 1 to {} nodes of 1 to 1,024 GPUs", FormatCount(kMostRanks)));
  }
  if (d.require_concurrency < 1 || d.require_concurrency > kMostRequests) {
    return Fail(ErrorCode::kUsage, fmt::format("--require-concurrency {}", d.require_concurrency),
                fmt::format("expected a number from 1 to {}", FormatCount(kMostRequests)));
  }
  return {};
}

Status CheckOffload(const Deployment& d) {
  const EngineSettings& s = d.settings;
  if (!(s.mm_ipc_gpu_memory_gb >= 0 && s.mm_ipc_gpu_memory_gb < 1e6)) {
    return Fail(ErrorCode::kUsage, fmt::format("--mm-ipc-gpu-memory-gb {}", s.mm_ipc_gpu_memory_gb),
                "expected GiB a card, zero or more");
  }
  if (!(s.cpu_offload_gb >= 0 && s.cpu_offload_gb < 1e6)) {
    return Fail(ErrorCode::kUsage, fmt::format("--cpu-offload-gb {}", s.cpu_offload_gb),
                "expected GiB a card, zero or more");
  }
  const std::string backend = s.offload_backend.value_or("auto");
  if (backend != "auto" && backend != "uva" && backend != "prefetch") {
    return Fail(ErrorCode::kUsage, "--offload-backend " + Printable(backend),
                "expected auto, uva or prefetch");
  }
  const std::pair<const char*, int64_t> counts[] = {
      {"--offload-group-size", s.offload_group_size},
      {"--offload-num-in-group", s.offload_num_in_group},
      {"--offload-prefetch-step", s.offload_prefetch_step}};
  for (const auto& [flag, value] : counts) {
    if (value < 0 || value > kMostLayers) {
      return Fail(ErrorCode::kUsage, fmt::format("{} {}", flag, value),
                  fmt::format("expected a number from 0 to {}", FormatCount(kMostLayers)));
    }
  }
  if (s.offload_num_in_group == 0) {
    return Fail(ErrorCode::kUsage, "--offload-num-in-group 0", "expected at least 1 layer");
  }
  if (const auto refusal = vllm::PrefetchRefusal(s)) {
    if (s.offload_group_size == 0) {
      return Fail(ErrorCode::kUsage, "--offload-backend prefetch",
                  fmt::format("expected --offload-group-size of {} or more, found none; vLLM would "
                              "say: {}",
                              s.offload_num_in_group, *refusal),
                  fmt::format("--offload-group-size {} keeps {} of every {} layers in host memory; "
                              "--offload-backend uva with --cpu-offload-gb takes a size instead",
                              8 * s.offload_num_in_group, s.offload_num_in_group,
                              8 * s.offload_num_in_group));
    }
    const bool step = s.offload_prefetch_step < 1;
    return Fail(
        ErrorCode::kUsage,
        step ? fmt::format("--offload-prefetch-step {}", s.offload_prefetch_step)
             : fmt::format("--offload-num-in-group {}", s.offload_num_in_group),
        (step ? std::string("expected 1 or more")
              : fmt::format("expected at most --offload-group-size {}", s.offload_group_size)) +
            "; vLLM would say: " + *refusal,
        step ? "1 is the default: the group that is needed next is copied ahead"
             : "of every so many layers as the group has, no more can move");
  }
  return {};
}

std::optional<Finding> OffloadConflict(const Deployment& d) {
  const std::optional<std::string> conflict = vllm::OffloadConflict(d.settings);
  if (!conflict) return std::nullopt;
  return Finding{"offload.conflict", Severity::kWarning, "--offload-backend",
                 "vLLM would say: " + *conflict, "give the options of one backend"};
}

Status CheckTokens(const Deployment& d, int64_t window) {
  if (d.output_tokens && (*d.output_tokens < 1 || *d.output_tokens >= window)) {
    return Fail(ErrorCode::kUsage, fmt::format("--output-tokens {}", *d.output_tokens),
                fmt::format("expected a number from 1 to {}, less than the window",
                            FormatCount(window - 1)),
                "input and output share --max-model-len");
  }
  if (d.typical_tokens && (*d.typical_tokens < 1 || *d.typical_tokens > window)) {
    return Fail(ErrorCode::kUsage, fmt::format("--typical-tokens {}", *d.typical_tokens),
                fmt::format("expected a number from 1 to {}, the window", FormatCount(window)));
  }
  return {};
}

void NoteForeignOptions(const std::vector<std::string>& names, const std::string& theirs,
                        const std::string& ours, std::vector<Finding>* findings) {
  const std::set<std::string> once(names.begin(), names.end());
  if (once.empty()) return;
  findings->push_back({"engine.foreign_option", Severity::kWarning,
                       fmt::format("{}", fmt::join(once, ", ")),
                       fmt::format("{}'s: without effect on {}", theirs, ours),
                       fmt::format("`shardplan plan --help` lists {}'s own", ours)});
}

int64_t CardsPerNode(const GpuSpec& gpu, const Deployment& deployment) {
  if (deployment.gpus_per_node) return *deployment.gpus_per_node;
  if (!deployment.cluster) return gpu.cards_per_node;
  return ShareOf(*deployment.cluster, deployment.nodes, deployment.sizes.world()).cards_per_node;
}

Result<GpuSpec> CardOf(const GpuSpec& card, const Deployment& d) {
  GpuSpec gpu = card;
  if (d.gpu_memory_total) {
    const Bytes total = *d.gpu_memory_total;
    const Bytes most = gpu.device_total.bytes.high;
    if (total <= Bytes() || total > most) {
      return Fail(ErrorCode::kUsage, "--gpu-memory-total " + FormatGiB(total),
                  fmt::format("expected at most the {} of this card", FormatGiB(most)),
                  "it is what CUDA sees of the card, below what nvidia-smi totals");
    }
    gpu.cuda_visible = {Range(total), Basis::kMeasured, "--gpu-memory-total"};
  }
  if (d.gpu_memory_in_use < Bytes() || d.gpu_memory_in_use > gpu.cuda_visible.bytes.central) {
    return Fail(ErrorCode::kUsage, "--gpu-memory-in-use " + FormatGiB(d.gpu_memory_in_use),
                fmt::format("expected at most the {} that CUDA sees of this card",
                            FormatGiB(gpu.cuda_visible.bytes.central)));
  }
  return gpu;
}

namespace {

// Why the engine cannot load files of `plain` for a method of another kind. Nothing where they may
// be of a class of the method's that is not known here; `contradict`: they are not, their tensors
// are others.
std::optional<Error> OtherKind(const std::string& option, const Model& plain,
                               const std::string& method, bool contradict) {
  const std::string shape = vllm::MethodOfShape(plain.arch);
  const bool head = shape != "draft_model";
  if (plain.guesses || shape == method || (!contradict && !head)) return std::nullopt;
  const std::string& name = plain.arch.name;
  return Error{
      ErrorCode::kUsage, option,
      fmt::format("method {}, and the draft's class is {}: vLLM builds {} out of its config, {}",
                  method, Printable(name), Printable(DraftClass(method, name, "")),
                  head ? "which its files don't fill"
                       : "and fails on its tensors ('There is no module or parameter named …')"),
      fmt::format(R"("method": "{}")", shape)};
}

}  // namespace

Result<std::shared_ptr<const Model>> LoadDraftModel(const std::string& option,
                                                    const std::string& path,
                                                    const std::string& method) {
  if (!Exists(path)) {
    return Fail(ErrorCode::kUsage, option,
                "model " + Printable(path) + ": no such directory or file here",
                "a plan needs no more than the draft's config.json: download it and give its path");
  }
  Assumptions assumptions;
  assumptions.draft_method = method;
  Result<Model> model = LoadModel(path, assumptions);
  if (!method.empty() && (!model || model->guesses)) {
    const bool contradict = !model && model.error().code == ErrorCode::kInvalidInput;
    const Result<Model> plain = LoadModel(path);
    if (plain) {
      if (auto error = OtherKind(option, *plain, method, contradict)) {
        return tl::unexpected(std::move(*error));
      }
    }
  }
  if (!model) return tl::unexpected(std::move(model).error());
  return std::make_shared<const Model>(*std::move(model));
}

Status CheckServed(const Model& model, const std::string& engine) {
  const DraftShape& draft = model.arch.draft;
  if (draft.method.empty()) return {};
  const std::string what = "is a draft in the speculators format, not a model to serve";
  if (engine != "vllm") return Fail(ErrorCode::kUnsupported, Printable(model.source), what);
  const std::string verifier = draft.verifier.empty() ? "MODEL" : Printable(draft.verifier);
  return Fail(ErrorCode::kUnsupported, Printable(model.source),
              fmt::format("{}: vLLM serves the verifier that it names ({}), and this as its draft",
                          what, draft.verifier.empty() ? "none here" : verifier),
              fmt::format(R"(plan {} with --speculative-config '{{"method": "{}", "model": "{}", )"
                          R"("num_speculative_tokens": {}}}')",
                          verifier, Printable(draft.method), Printable(model.source),
                          std::max<int64_t>(draft.tokens, 1)));
}

std::optional<Finding> CheckStoredQuantization(const Model& model, const Deployment& deployment) {
  const StoredQuantization stored{model.quant_method, !model.arch.quantization.empty()};
  return CheckQuantization(deployment.engine, stored, deployment.settings);
}

void ServeDraftDirectory(const std::string& path, const Model& draft, EngineSettings* settings) {
  if (settings->served_draft || IsDirectory(path)) return;
  settings->served_draft = draft.inventory.directory;
}

}  // namespace shardplan
