#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "engine/vllm/lora.h"
#include "engine/vllm/weights.h"
#include "plan/prepare.h"
#include "shardplan/base/units.h"
#include "shardplan/plan/plan.h"

namespace shardplan {
namespace {

// The same parameter in several layers is one item with a count.
void AddParam(std::vector<WeightItem>* items, std::string name, const DeviceParam& param,
              Basis basis) {
  // A tower's blocks are one parameter already.
  if (const size_t block = name.find("{B}"); block != std::string::npos)
    name.replace(block, 3, "*");
  const auto it = std::find_if(items->begin(), items->end(), [&](const WeightItem& item) {
    return item.name == name && item.shape == param.shape.ToString() && item.rule == param.rule;
  });
  if (it != items->end()) {
    it->count += param.blocks;
    it->bytes += param.bytes;
    return;
  }
  WeightItem item;
  item.name = std::move(name);
  item.rule = param.rule;
  item.shape = param.shape.ToString();
  item.count = param.blocks;
  item.bytes = param.bytes;
  item.basis = Softer(basis, param.basis);
  item.source = fmt::format("{}, {}", ToString(param.role), NameOf(param.dtype));
  items->push_back(std::move(item));
}

// The drafter's parameters, on the last stage.
void AddDraft(const vllm::Draft& draft, const vllm::DraftOnRank& placed, Basis basis,
              std::vector<WeightItem>* items) {
  const auto add = [&](const std::vector<DeviceParam>& params, std::optional<int64_t> layer) {
    for (const DeviceParam& param : params) {
      AddParam(items, "drafter: " + (layer ? draft.NameOf(param.name, *layer) : param.name), param,
               basis);
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

Result<std::vector<WeightItem>> ExplainWeights(const Model& model, const Catalog& catalog,
                                               const ConfigStore& store,
                                               const Deployment& deployment, int64_t rank) {
  SHARDPLAN_ASSIGN_OR_RETURN(const Environment env,
                             MakeEnvironment(model, catalog, store, deployment));
  Prepared p;
  SHARDPLAN_RETURN_IF_ERROR(Prepare(env, deployment, &p));
  if (!p.legal) {
    for (const Finding& finding : p.findings) {
      if (finding.severity == Severity::kError) {
        return Fail(ErrorCode::kUsage, finding.subject, finding.message, finding.fix);
      }
    }
  }
  if (rank < 0 || rank >= deployment.sizes.world()) {
    return Fail(ErrorCode::kUsage, fmt::format("--rank {}", rank),
                fmt::format("expected a rank from 0 to {}", deployment.sizes.world() - 1));
  }
  const RankPlace place =
      PlaceRanks(deployment.sizes, p.placement.ranks_per_node)[static_cast<size_t>(rank)];
  const DeviceWeights weights =
      ComputeDeviceWeights(model.arch, p.table, vllm::RulesFor(p.context, place.ep_rank));
  const StageRange& stage = p.context.stages[static_cast<size_t>(place.stage)];
  std::vector<WeightItem> items;
  const Basis basis = model.shape_basis;
  auto outside = [&](const std::vector<DeviceParam>& params) {
    for (const DeviceParam& param : params) AddParam(&items, param.name, param, basis);
  };
  if (place.stage == 0) outside(weights.first_stage);
  const std::string prefix = model.table.layer_prefix;
  const std::string shown = prefix.substr(0, prefix.find("{L}")) + "*.";
  for (int64_t layer = stage.first; layer < stage.end(); ++layer) {
    for (const DeviceParam& param : weights.layer(layer).params) {
      AddParam(&items, shown + param.name, param, basis);
    }
  }
  if (place.stage + 1 == deployment.sizes.pp) outside(weights.last_stage);
  outside(weights.every_stage);
  std::optional<vllm::DraftOnRank> draft;
  if (p.draft && place.stage + 1 == deployment.sizes.pp) {
    draft = vllm::PlaceDraft(p.context, place.ep_rank);
    AddDraft(*p.draft, *draft, basis, &items);
  }
  auto extras = [&](const std::vector<vllm::ExtraBytes>& list) {
    for (const vllm::ExtraBytes& extra : list) {
      items.push_back({extra.name, extra.rule, "", 1, extra.bytes, extra.basis, extra.source});
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
  return items;
}

}  // namespace shardplan
