#include "plan/request.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "plan/cluster_use.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

constexpr int64_t kMostRanks = 8192;
constexpr int64_t kMostRequests = 1'000'000;

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
  SHARDPLAN_ASSIGN_OR_RETURN(Model model, LoadModel(path, assumptions));
  return std::make_shared<const Model>(std::move(model));
}

void ServeDraftDirectory(const std::string& path, const Model& draft, EngineSettings* settings) {
  if (settings->served_draft || IsDirectory(path)) return;
  settings->served_draft = draft.inventory.directory;
}

}  // namespace shardplan
