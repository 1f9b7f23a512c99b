#include "shardplan/plan/inspection.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

// Sums by dtype, in the order of the enum.
class DTypeSums {
 public:
  void Add(DType dtype, const Amount& amount) { sums_[dtype] += amount; }
  std::vector<DTypeAmount> Take() const {
    std::vector<DTypeAmount> out;
    for (const auto& [dtype, amount] : sums_) out.push_back({dtype, amount});
    return out;
  }

 private:
  std::map<DType, Amount> sums_;
};

std::string NameOfRole(const std::optional<Role>& role) {
  return role ? std::string(ToString(*role)) : "unknown";
}

std::vector<RoleAmount> SumByRole(const std::vector<const TensorGroup*>& groups) {
  std::vector<RoleAmount> out;
  const auto add = [&](std::optional<Role> role) {
    RoleAmount sum;
    sum.role = NameOfRole(role);
    DTypeSums dtypes;
    for (const TensorGroup* group : groups) {
      if (group->role != role) continue;
      sum.amount += group->amount;
      dtypes.Add(group->dtype, group->amount);
    }
    sum.by_dtype = dtypes.Take();
    if (sum.amount.tensors > 0) out.push_back(std::move(sum));
  };
  for (const Role role : AllRoles()) add(role);
  add(std::nullopt);
  return out;
}

bool InLayers(const TensorGroup& group) {
  return group.name.find("{L}") != std::string::npos && group.role != Role::kLeftover;
}

LayerProfile ProfileOf(const LayerContents& layer, const Architecture& arch) {
  LayerProfile out;
  out.layer = layer.layer;
  out.amount = layer.amount;
  const bool draft = layer.layer >= arch.layers();
  out.attention = draft ? "draft" : ToString(arch.attention[static_cast<size_t>(layer.layer)]);
  const bool moe = layer.Has(Role::kRoutedExpert) || (draft && arch.moe.experts > 0);
  out.mlp = moe ? "moe" : layer.Has(Role::kDenseMlp) || draft ? "dense" : "none";
  return out;
}

std::vector<StageProfile> ProfileStages(const std::vector<StageRange>& ranges, const Model& model) {
  Bytes first, last, every;
  for (const TensorGroup& group : model.contents.groups) {
    const Bytes bytes = group.amount.bytes;
    if (group.placement == Placement::kFirstStage) first += bytes;
    if (group.placement == Placement::kLastStage) last += bytes;
    if (group.placement == Placement::kEveryStage) every += bytes;
    // Tied embeddings: the last stage needs them as its head.
    const bool tied = model.arch.tied_embeddings && ranges.size() > 1;
    if (tied && group.placement == Placement::kFirstStage && group.role == Role::kEmbedding) {
      last += bytes;
    }
  }
  std::vector<StageProfile> out;
  for (size_t i = 0; i < ranges.size(); ++i) {
    StageProfile stage;
    stage.range = ranges[i];
    for (const LayerContents& layer : model.contents.layers) {
      if (layer.layer >= ranges[i].first && layer.layer < ranges[i].end()) {
        stage.layers += layer.amount.bytes;
      }
    }
    if (i == 0) stage.ends += first;
    if (i + 1 == ranges.size()) stage.ends += last;
    stage.every_stage = every;
    out.push_back(stage);
  }
  return out;
}

std::vector<LargeTensors> LargestOf(const std::vector<TensorGroup>& groups) {
  std::vector<LargeTensors> all;
  for (const TensorGroup& group : groups) {
    LargeTensors one = {
        {group.name},         NameOfRole(group.role),
        group.dtype,          group.shape,
        group.amount.tensors, Bytes(group.amount.bytes.count() / group.amount.tensors)};
    const auto like = std::find_if(all.begin(), all.end(), [&](const LargeTensors& known) {
      const auto times = static_cast<int64_t>(known.names.size());
      return known.role == one.role && known.dtype == one.dtype && known.shape == one.shape &&
             known.count == one.count * times;
    });
    if (like == all.end()) {
      all.push_back(std::move(one));
    } else {
      like->names.push_back(group.name);
      like->count += one.count;
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const LargeTensors& a, const LargeTensors& b) { return a.each > b.each; });
  if (all.size() > Inspection::kLargest) all.resize(Inspection::kLargest);
  return all;
}

// Layers of one kind should hold the same: where they don't, somebody may want to know.
void NoteDifferingLayers(const std::vector<LayerProfile>& layers, std::vector<Finding>* findings) {
  std::map<std::pair<std::string, std::string>, std::map<Bytes, std::vector<int64_t>>> kinds;
  for (const LayerProfile& layer : layers) {
    kinds[{layer.attention, layer.mlp}][layer.amount.bytes].push_back(layer.layer);
  }
  for (const auto& [kind, by_bytes] : kinds) {
    if (by_bytes.size() < 2) continue;
    const auto usual = std::max_element(
        by_bytes.begin(), by_bytes.end(),
        [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    const auto other = by_bytes.begin() == usual ? std::next(usual) : by_bytes.begin();
    findings->push_back(
        {"model.layers_differ", Severity::kNote, fmt::format("{} + {}", kind.first, kind.second),
         fmt::format("layers of this kind store {} different amounts: layer {} has {}, layer {} "
                     "has {}",
                     by_bytes.size(), usual->second.front(), FormatBytes(usual->first),
                     other->second.front(), FormatBytes(other->first)),
         ""});
  }
}

void NoteEmptyTensors(const std::vector<TensorGroup>& groups, std::vector<Finding>* findings) {
  int64_t count = 0;
  const TensorGroup* first = nullptr;
  for (const TensorGroup& group : groups) {
    if (group.amount.elements > 0) continue;
    count += group.amount.tensors;
    if (first == nullptr) first = &group;
  }
  if (first == nullptr) return;
  findings->push_back({"checkpoint.empty_tensors", Severity::kNote, Printable(first->name),
                       fmt::format("{} without elements",
                                   count == 1 ? "a tensor" : FormatCount(count) + " tensors"),
                       ""});
}

std::vector<Finding> FindingsOf(const Model& model, const Inspection& inspection) {
  std::vector<Finding> findings = model.findings;
  for (Finding& finding : findings) {
    if (finding.id != "model.single_shard") continue;
    finding.message = "one shard of several: every figure here is of this file alone";
    finding.fix = "inspect the directory for the whole checkpoint";
  }
  if (inspection.complete) NoteDifferingLayers(inspection.layers, &findings);
  NoteEmptyTensors(model.contents.groups, &findings);
  SortFindings(findings);
  return findings;
}

}  // namespace

Result<std::vector<StageRange>> StagesFor(const StageRequest& request, int64_t layers) {
  if (!request.partition) {
    const int64_t stages = request.stages.value_or(1);
    if (stages > layers) {
      return Fail(ErrorCode::kUsage, fmt::format("--pp {}", stages),
                  fmt::format("expected at most {} stages, as many as there are layers", layers));
    }
    return DefaultPartition(layers, stages);
  }
  const std::vector<StageRange> stages = PartitionFrom(*request.partition);
  const std::string subject = "--pp-partition " + FormatPartition(stages);
  if (stages.back().end() != layers) {
    return Fail(
        ErrorCode::kUsage, subject,
        fmt::format("expected layers that sum to {}, found {}", layers, stages.back().end()));
  }
  if (request.stages && *request.stages != static_cast<int64_t>(stages.size())) {
    return Fail(
        ErrorCode::kUsage, subject,
        fmt::format("expected {} stages as --pp says, found {}", *request.stages, stages.size()));
  }
  return stages;
}

bool LayerProfile::IsLike(const LayerProfile& other) const {
  return attention == other.attention && mlp == other.mlp && amount == other.amount;
}

Result<Inspection> Inspect(const Model& model, const StageRequest& stages) {
  Inspection out;
  out.source = model.source;
  out.architecture = model.arch.name;
  out.family = model.arch.family;
  out.quantization = model.arch.quantization;
  out.basis = model.contents.basis;
  out.complete = model.contents.complete;
  out.totals = model.contents.Totals();
  out.active_parameters = ActiveParameters(model.arch, model.contents);
  if (model.inventory.has_headers) {
    out.file_bytes = model.inventory.file_bytes;
    out.header_bytes = model.inventory.header_bytes;
    out.shards = model.inventory.shards;
  }
  DTypeSums dtypes;
  std::vector<const TensorGroup*> all, outside;
  for (const TensorGroup& group : model.contents.groups) {
    dtypes.Add(group.dtype, group.amount);
    all.push_back(&group);
    if (!InLayers(group)) outside.push_back(&group);
  }
  out.by_dtype = dtypes.Take();
  out.by_role = SumByRole(all);
  out.outside = SumByRole(outside);
  for (const LayerContents& layer : model.contents.layers) {
    out.layers.push_back(ProfileOf(layer, model.arch));
  }
  SHARDPLAN_ASSIGN_OR_RETURN(const std::vector<StageRange> ranges,
                             StagesFor(stages, model.arch.layers()));
  out.stages = ProfileStages(ranges, model);
  out.largest = LargestOf(model.contents.groups);
  out.findings = FindingsOf(model, out);
  return out;
}

}  // namespace shardplan
