#include "shardplan/sharding/device_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sharding/sliced_tensor.h"
#include "shardplan/base/units.h"
#include "shardplan/sharding/created_params.h"

namespace shardplan {
namespace {

// What of one module's [out, in] (or of one tensor's first dimension) a rank holds.
struct LocalShape {
  int64_t out = 0;
  int64_t in = 0;
  std::string rule;
};

bool IsExpert(Split split) {
  return split == Split::kExpertGate || split == Split::kExpertUp || split == Split::kExpertDown;
}

int64_t KvHeadsOf(const ModuleRow& row, const Architecture& arch) {
  return row.kv_heads > 0 ? row.kv_heads : arch.kv_heads;
}

LocalShape Slice(const ModuleRow& row, const Architecture& arch, const ShardingRules& rules,
                 int64_t out, int64_t in) {
  const int64_t tp = rules.TpOf(row.role);
  switch (row.split) {
    case Split::kReplicated:
      return {out, in, "replicated"};
    case Split::kColumn:
      return {out / tp, in, fmt::format("output ÷ TP {}", tp)};
    case Split::kRow:
      return {out, in / tp, fmt::format("input ÷ TP {}", tp)};
    case Split::kKvHeads: {
      const int64_t heads = KvHeadsOf(row, arch);
      const int64_t width = out / heads;
      const int64_t local = std::max<int64_t>(1, heads / tp);
      return {local * width, in,
              tp > heads ? fmt::format("{} KV heads, one replicated {}×", heads, tp / heads)
                         : fmt::format("{} of {} KV heads", local, heads)};
    }
    case Split::kVocabulary: {
      const int64_t padded = RoundUp(out, rules.vocabulary_multiple);
      return {padded / tp, in, fmt::format("rows padded to {} ÷ TP {}", FormatCount(padded), tp)};
    }
    case Split::kSharedColumn:
      if (rules.replicate_shared) return {out, in, "replicated under sequence parallelism"};
      return {out / tp, in, fmt::format("output ÷ TP {}", tp)};
    case Split::kSharedRow:
      if (rules.replicate_shared) return {out, in, "replicated under sequence parallelism"};
      return {out, in / tp, fmt::format("input ÷ TP {}", tp)};
    case Split::kVisionColumn:
      if (!rules.vision_sharded) return {out, in, "tower replicated"};
      return {out / tp, in, fmt::format("output ÷ TP {}", tp)};
    case Split::kVisionRow:
      if (!rules.vision_sharded) return {out, in, "tower replicated"};
      return {out, in / tp, fmt::format("input ÷ TP {}", tp)};
    case Split::kExpertGate:
    case Split::kExpertUp:
      return {rules.expert_intermediate, rules.expert_width, ""};
    case Split::kExpertDown:
      return {rules.expert_width, rules.expert_intermediate, ""};
  }
  return {out, in, ""};
}

DeviceParam MakeParam(std::string name, DType dtype, Shape shape, const ModuleRow& row,
                      std::string rule) {
  DeviceParam param;
  param.name = std::move(name);
  param.dtype = dtype;
  param.bytes = SizeOf(dtype, shape).value_or(Bytes());
  param.shape = std::move(shape);
  param.role = row.role;
  param.split = row.split;
  param.rule = std::move(rule);
  return param;
}

// A fused linear: the members' local rows one after the other, padded to the parameter's alignment.
void AddLinear(const std::vector<const ModuleRow*>& members, const Architecture& arch,
               const ShardingRules& rules, std::vector<DeviceParam>* out) {
  const ModuleRow& head = *members.front();
  LocalLinear linear;
  linear.dtype = head.device_dtype;
  linear.whole_in = head.shape.dims[1];
  int64_t rows = 0;
  int64_t align = 1;
  std::string rule;
  for (const ModuleRow* row : members) {
    const LocalShape local = Slice(*row, arch, rules, row->shape.dims[0], row->shape.dims[1]);
    linear.members.push_back(local.out);
    rows += local.out;
    linear.in = local.in;
    align = std::max(align, row->param_row_align);
    if (rule.find(local.rule) == std::string::npos) {
      rule += (rule.empty() ? "" : "; ") + local.rule;
    }
  }
  linear.rows = RoundUp(rows, align);
  if (linear.rows != rows) rule += fmt::format("; rows padded to {}", FormatCount(linear.rows));
  const QuantFormat format = head.device_quant.value_or(head.quant);
  for (CreatedPart& part : CreatedLinear(format, linear)) {
    out->push_back(MakeParam(head.param + part.suffix, part.dtype, std::move(part.shape), head,
                             part.rule.empty() ? rule : std::move(part.rule)));
  }
  if (head.bias) {
    // A column's bias is sliced with its rows, a row's bias stays whole.
    out->push_back(MakeParam(head.param + ".bias", head.device_dtype, Shape{rows}, head, rule));
  }
}

void AddTensor(const std::vector<const ModuleRow*>& members, const Architecture& arch,
               const ShardingRules& rules, std::vector<DeviceParam>* out) {
  const ModuleRow& head = *members.front();
  Shape shape = head.device_shape.value_or(head.shape);
  std::string rule = "replicated";
  if (!shape.dims.empty()) {
    int64_t first = 0;
    for (const ModuleRow* row : members) {
      const Shape& whole = row->device_shape ? *row->device_shape : row->shape;
      const LocalShape local = Slice(*row, arch, rules, whole.dims[0], 1);
      first += local.out;
      rule = local.rule;
    }
    shape.dims[0] = RoundUp(first, head.param_row_align);
    if (shape.dims[0] != first) {
      rule += fmt::format("; padded to {}", FormatCount(shape.dims[0]));
    }
  }
  out->push_back(MakeParam(head.param, head.device_dtype, std::move(shape), head, rule));
}

// The routed experts of a layer: w13 holds gate and up, w2 down.
void AddExperts(const std::vector<const ModuleRow*>& members, const ShardingRules& rules,
                std::vector<DeviceParam>* out) {
  const ModuleRow& head = *members.front();
  LocalExperts experts;
  experts.experts = rules.local_experts;
  experts.input_scales = rules.all_input_scales ? head.experts : rules.local_experts;
  experts.intermediate = rules.expert_intermediate;
  experts.width = rules.expert_width;
  experts.bias = head.bias;
  experts.dtype = head.device_dtype;
  const bool gated = std::any_of(members.begin(), members.end(), [](const ModuleRow* row) {
    return row->split == Split::kExpertGate;
  });
  experts.projections = gated ? 2 : 1;
  const std::string rule =
      rules.expert_groups > 0
          ? fmt::format("{} of {} experts (EP {}), intermediate {} a rank", experts.experts,
                        head.experts, rules.expert_groups, FormatCount(experts.intermediate))
      : rules.sizes.expert_parallel
          ? fmt::format("{} of {} experts, whole (EP {})", experts.experts, head.experts,
                        rules.sizes.ep())
          : fmt::format("all {} experts, intermediate {} a rank (÷ {})", head.experts,
                        FormatCount(experts.intermediate), rules.sizes.expert_ranks());
  for (CreatedPart& part : CreatedExperts(head.device_quant.value_or(head.quant), experts)) {
    // The rule of the weights holds for their scales, too.
    out->push_back(
        MakeParam(head.param + "." + part.suffix, part.dtype, std::move(part.shape), head, rule));
  }
}

// Groups rows by parameter, keeping the order of first appearance, and adds each.
std::vector<DeviceParam> BuildParams(const std::vector<const ModuleRow*>& rows,
                                     const Architecture& arch, const ShardingRules& rules) {
  std::vector<std::pair<std::string, std::vector<const ModuleRow*>>> groups;
  for (const ModuleRow* row : rows) {
    const auto it = std::find_if(groups.begin(), groups.end(),
                                 [&](const auto& group) { return group.first == row->param; });
    if (it == groups.end()) {
      groups.push_back({row->param, {row}});
    } else {
      it->second.push_back(row);
    }
  }
  std::vector<DeviceParam> out;
  for (const auto& [name, members] : groups) {
    const ModuleRow& head = *members.front();
    const size_t before = out.size();
    if (head.slice) {
      out.push_back(SliceTensor(members, arch, rules));
    } else if (IsExpert(head.split)) {
      AddExperts(members, rules, &out);
    } else if (head.form == Form::kLinear) {
      AddLinear(members, arch, rules, &out);
    } else {
      AddTensor(members, arch, rules, &out);
    }
    if (head.blocks == 0) continue;
    for (size_t i = before; i < out.size(); ++i) {  // a tower's blocks, all alike
      out[i].blocks = head.blocks;
      out[i].bytes = out[i].bytes * head.blocks;
    }
  }
  return out;
}

Bytes Sum(const std::vector<DeviceParam>& params) {
  Bytes total;
  for (const DeviceParam& param : params) total += param.bytes;
  return total;
}

}  // namespace

int64_t ShardingRules::TpOf(Role role) const {
  const auto own = [&](int64_t size) { return size > 0 ? size : sizes.tp; };
  switch (role) {
    case Role::kAttention:
      return own(part_tp.attention);
    case Role::kLinearAttention:
      return own(part_tp.linear_attention);
    case Role::kEmbedding:
      return own(part_tp.embedding);
    case Role::kHead:
      return own(part_tp.head);
    case Role::kDenseMlp:
      return own(part_tp.dense_mlp);
    case Role::kSharedExpert:
      return own(part_tp.shared_experts);
    default:
      return sizes.tp;
  }
}

Bytes DeviceWeights::StageBytes(const StageRange& range, bool first, bool last) const {
  Bytes total = Sum(every_stage);
  for (int64_t layer = range.first; layer < range.end(); ++layer) total += this->layer(layer).bytes;
  if (first) total += Sum(first_stage);
  if (last) total += Sum(last_stage);
  return total;
}

DeviceWeights ComputeDeviceWeights(const Architecture& arch, const TensorTable& table,
                                   const ShardingRules& rules) {
  DeviceWeights weights;
  const std::vector<ModuleRow> sliced = SlicedRows(table);
  std::vector<const ModuleRow*> layered, first, last, every;
  for (const ModuleRow& row : sliced) {
    if (rules.guess == GuessEnd::kWhole && row.slice && row.slice->on_every_stage) {
      every.push_back(&row);
      continue;
    }
    switch (row.placement) {
      case Placement::kLayers:
        layered.push_back(&row);
        break;
      case Placement::kFirstStage:
        first.push_back(&row);
        break;
      case Placement::kLastStage:
        last.push_back(&row);
        break;
      case Placement::kEveryStage:
        if (rules.vision_on_device || !row.is_tower()) every.push_back(&row);
        break;
      case Placement::kNotLoaded:
        break;
    }
  }
  // Layers that the same rows cover are one class.
  std::map<std::vector<bool>, size_t> classes;
  for (int64_t layer = 0; layer < arch.layers(); ++layer) {
    std::vector<bool> signature;
    std::vector<const ModuleRow*> rows;
    for (const ModuleRow* row : layered) {
      const bool here = row->layers.Contains(layer);
      signature.push_back(here);
      if (here) rows.push_back(row);
    }
    const auto [it, is_new] = classes.emplace(std::move(signature), weights.classes.size());
    if (is_new) {
      LayerClass made;
      made.params = BuildParams(rows, arch, rules);
      made.bytes = Sum(made.params);
      weights.classes.push_back(std::move(made));
    }
    weights.class_of_layer.push_back(it->second);
  }
  // Tied embeddings: the last stage keeps a copy of its own when there are several stages
  // (vllm/model_executor/models/llama.py, v0.28).
  if (arch.tied_embeddings && rules.sizes.pp > 1) {
    for (const ModuleRow* row : first) {
      if (row->role == Role::kEmbedding) last.push_back(row);
    }
  }
  weights.first_stage = BuildParams(first, arch, rules);
  weights.last_stage = BuildParams(last, arch, rules);
  weights.every_stage = BuildParams(every, arch, rules);
  return weights;
}

namespace {

// The parameter as messages name it; {B} and {E} would only confuse.
Indivisible Problem(std::string id, const ModuleRow& row, int64_t dimension, int64_t divisor,
                    bool output) {
  Indivisible problem;
  problem.id = std::move(id);
  problem.param = row.param;
  problem.dimension = dimension;
  problem.divisor = divisor;
  problem.output = output;
  problem.expert = IsExpert(row.split);
  problem.local = dimension % divisor == 0 ? dimension / divisor : 0;
  return problem;
}

// Inputs or outputs that must stay together in a format: the slice of a rank is a multiple of it.
int64_t UnitOf(const QuantFormat& format, bool output) {
  switch (format.scheme) {
    case QuantScheme::kFp8Block:
      return output ? format.block_out : format.block_in;
    case QuantScheme::kMxfp8:
    case QuantScheme::kNvfp4:
      return output ? 1 : format.block_in;
    case QuantScheme::kMxfp4:
      return 1;  // the backends pad what a rank holds
    case QuantScheme::kAwq:
      return output ? format.pack() : std::max<int64_t>(format.block_in, 1);
    case QuantScheme::kGptq:
    case QuantScheme::kIntPacked:
      // Permuted inputs keep all groups on every rank.
      if (output) return format.scheme == QuantScheme::kGptq ? format.pack() : 1;
      return format.act_order ? format.pack() : std::max(format.block_in, format.pack());
    default:
      return 1;
  }
}

// Blocks and groups may not be cut.
void CheckBlock(const ModuleRow& row, int64_t dimension, int64_t divisor, bool output,
                std::vector<Indivisible>* out) {
  const QuantFormat format = row.device_quant.value_or(row.quant);
  const int64_t unit = UnitOf(format, output);
  if (divisor <= 1 || unit <= 1 || (dimension / divisor) % unit == 0) return;
  const bool fp8 = format.scheme == QuantScheme::kFp8Block;
  Indivisible problem =
      Problem(fp8 ? "sharding.fp8_block" : "sharding.quant_group", row, dimension, divisor, output);
  problem.block = unit;
  problem.scheme = format.scheme;
  out->push_back(std::move(problem));
}

}  // namespace

std::vector<Indivisible> CheckSharding(const Architecture& arch, const TensorTable& table,
                                       const ShardingRules& rules) {
  std::vector<Indivisible> out;
  for (const ModuleRow& row : SlicedRows(table)) {
    if (row.placement == Placement::kNotLoaded) continue;
    if (row.is_tower() && !rules.vision_on_device) continue;
    const int64_t tp = rules.TpOf(row.role);
    if (row.slice) {
      CheckSlice(row, arch, rules, &out);
      continue;
    }
    const Shape& shape = row.device_shape ? *row.device_shape : row.shape;
    if (shape.dims.empty()) continue;
    const int64_t rows = shape.dims[0];
    const int64_t columns = shape.dims.size() > 1 ? shape.dims[1] : 1;
    const bool shared = row.split == Split::kSharedColumn || row.split == Split::kSharedRow;
    const bool vision = row.split == Split::kVisionColumn || row.split == Split::kVisionRow;
    if ((shared && rules.replicate_shared) || (vision && !rules.vision_sharded)) continue;
    switch (row.split) {
      case Split::kReplicated:
        break;
      case Split::kColumn:
      case Split::kSharedColumn:
      case Split::kVisionColumn:
        if (rows % tp != 0) {
          out.push_back(Problem("sharding.column", row, rows, tp, true));
        } else {
          CheckBlock(row, rows, tp, true, &out);
        }
        break;
      case Split::kRow:
      case Split::kSharedRow:
      case Split::kVisionRow:
        if (columns % tp != 0) {
          out.push_back(Problem("sharding.row", row, columns, tp, false));
        } else {
          CheckBlock(row, columns, tp, false, &out);
        }
        break;
      case Split::kKvHeads: {
        const int64_t heads = KvHeadsOf(row, arch);
        if (tp <= heads ? heads % tp != 0 : tp % heads != 0) {
          out.push_back(Problem("sharding.kv_heads", row, heads, tp, true));
        }
        break;
      }
      case Split::kVocabulary:
        if (RoundUp(rows, rules.vocabulary_multiple) % tp != 0) {
          out.push_back(Problem("sharding.vocabulary", row,
                                RoundUp(rows, rules.vocabulary_multiple), tp, true));
        }
        break;
      case Split::kExpertGate:
      case Split::kExpertDown: {
        if (rules.sizes.expert_parallel) break;
        const bool gate = row.split == Split::kExpertGate;
        // A stack of gate and up is twice as wide as what is divided.
        const bool stacked = row.form == Form::kStacked;
        const int64_t whole = stacked ? arch.moe.intermediate : gate ? rows : columns;
        const int64_t ranks = rules.sizes.expert_ranks();
        if (whole % ranks != 0) {
          out.push_back(Problem("sharding.expert", row, whole, ranks, gate));
        } else {
          CheckBlock(row, whole, ranks, gate, &out);
        }
        break;
      }
      case Split::kExpertUp:
        break;  // as its gate
    }
  }
  return out;
}

}  // namespace shardplan
