#include "plan/settings_check.h"

#include <iterator>
#include <optional>
#include <utility>

#include "engine/sglang/legality.h"
#include "engine/sglang/offload.h"
#include "engine/sglang/parallel.h"
#include "engine/vllm/settings_check.h"
#include "plan/cluster_use.h"
#include "plan/request.h"
#include "plan/sglang/prepare.h"
#include "plan/sglang/ranks.h"
#include "plan/vllm_place.h"

namespace shardplan {
namespace {

void Append(std::vector<Finding> more, std::vector<Finding>* findings) {
  findings->insert(findings->end(), std::make_move_iterator(more.begin()),
                   std::make_move_iterator(more.end()));
}

// Whether it was none.
bool Refuse(Status status, std::vector<Finding>* findings) {
  if (status) return false;
  Error error = std::move(status).error();
  findings->push_back({"command.refused", Severity::kError, std::move(error.subject),
                       std::move(error.message), std::move(error.hint)});
  return true;
}

void CheckVllm(const Deployment& d, std::vector<Finding>* findings) {
  Refuse(CheckOffload(d), findings);
  if (auto conflict = OffloadConflict(d)) findings->push_back(*std::move(conflict));
  if (Refuse(vllm::CheckNumbers(d.settings), findings)) return;
  Append(vllm::CheckSettings(d.sizes, d.settings), findings);
}

void CheckSglang(const Deployment& d, std::vector<Finding>* findings) {
  sglang::ServerArgs args = SglangArguments(d);
  args.nnodes = d.nodes.value_or(1);
  Append(sglang::CheckSizes(args), findings);
  Append(sglang::CheckFlags(args), findings);
  if (auto refusal = sglang::OffloadRefusal(args)) findings->push_back(*std::move(refusal));
}

}  // namespace

std::vector<Finding> CheckSettings(const Deployment& d) {
  std::vector<Finding> findings;
  if (Refuse(CheckSizes(d), &findings)) return findings;
  d.engine == "sglang" ? CheckSglang(d, &findings) : CheckVllm(d, &findings);
  return findings;
}

Result<std::vector<Finding>> CheckPlacement(const GpuSpec& gpu, const Catalog& catalog,
                                            const Deployment& d) {
  std::vector<Finding> findings;
  if (!CheckSizes(d)) return findings;
  const bool sglang = d.engine == "sglang";
  ParallelSizes sizes = d.sizes;
  sizes.dp_in_tp = sglang && d.sizes.dp > 1 && d.sglang.enable_dp_attention;
  std::optional<Deployment> placed;
  if (d.cluster) {
    SHARDPLAN_ASSIGN_OR_RETURN(placed, InCluster(d, sizes.world()));
  }
  const Deployment& where = placed ? *placed : d;
  NodePlacement place;
  if (sglang) {
    PlaceSglang(gpu, catalog, where, sizes, &place, &findings);
  } else {
    PlaceVllm(gpu, catalog, where, &place, &findings);
  }
  return findings;
}

}  // namespace shardplan
