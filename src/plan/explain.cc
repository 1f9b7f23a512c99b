#include "plan/explain.h"

#include <fmt/format.h>

#include <optional>

#include "engine/vllm/lora.h"
#include "engine/vllm/weights.h"
#include "plan/weight_items.h"

namespace shardplan {
namespace {

// The drafter's parameters, on the last stage.
void AddDraft(const vllm::Draft& draft, const vllm::DraftOnRank& placed, WeightItems* items) {
  const auto add = [&](const std::vector<DeviceParam>& params, std::optional<int64_t> layer) {
    for (const DeviceParam& param : params) {
      items->Add("drafter: " + (layer ? draft.NameOf(param.name, *layer) : param.name), param);
    }
  };
  add(placed.weights.first_stage, std::nullopt);
  for (int64_t layer = 0; layer < placed.layers.count; ++layer) {
    add(placed.weights.layer(layer).params, layer);
  }
  add(placed.weights.last_stage, std::nullopt);
  add(placed.weights.every_stage, std::nullopt);
}

}  // namespace

Result<std::vector<WeightItem>> ExplainVllmWeights(const Environment& env,
                                                   const Deployment& deployment, int64_t rank) {
  const Model& model = *env.model;
  Prepared p;
  SHARDPLAN_RETURN_IF_ERROR(Prepare(env, deployment, &p));
  SHARDPLAN_RETURN_IF_ERROR(CheckLegal(p.legal, p.findings));
  SHARDPLAN_RETURN_IF_ERROR(CheckRank(rank, deployment.sizes.world()));
  const RankPlace place =
      PlaceRanks(deployment.sizes, p.placement.ranks_per_node)[static_cast<size_t>(rank)];
  const DeviceWeights weights =
      ComputeDeviceWeights(model.arch, *p.table, vllm::RulesFor(p.context, place.ep_rank));
  const StageRange& stage = p.context.stages[static_cast<size_t>(place.stage)];
  const bool last = place.stage + 1 == deployment.sizes.pp;
  WeightItems items(model.shape_basis);
  items.AddStage(model.table, weights, stage, place.stage == 0, last);
  std::optional<vllm::DraftOnRank> draft;
  if (p.draft && last) {
    draft = vllm::PlaceDraft(p.context, place.ep_rank);
    AddDraft(*p.draft, *draft, &items);
  }
  std::vector<WeightItem> out = items.Take();
  auto extras = [&](const std::vector<vllm::ExtraBytes>& list) {
    for (const vllm::ExtraBytes& extra : list) {
      out.push_back({extra.name, extra.rule, "", 1, extra.bytes, extra.basis, extra.source});
    }
  };
  extras(vllm::Buffers(p.context, stage, 0));
  extras(
      vllm::LoraStacks(p.context, stage, vllm::RulesFor(p.context, place.ep_rank).local_experts));
  extras(vllm::PostLoad(p.context, stage, weights));
  if (draft) {
    extras(draft->buffers);
    extras(draft->post_load);
  }
  return out;
}

}  // namespace shardplan
