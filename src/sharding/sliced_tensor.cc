#include "sharding/sliced_tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "shardplan/base/units.h"

namespace shardplan {
namespace {

bool IsExpert(Split split) {
  return split == Split::kExpertGate || split == Split::kExpertUp || split == Split::kExpertDown;
}

// A rank's part of a dimension: `numerator` of `denominator` equal pieces.
struct Share {
  int64_t numerator = 1;
  int64_t denominator = 1;
  std::string rule;
};

Share ShareOf(Split split, int64_t kv_heads, const ShardingRules& rules) {
  const int64_t tp = rules.sizes.tp;
  const auto by_tp = [&](bool sliced, const char* whole) {
    return sliced ? Share{1, tp, fmt::format("÷ TP {}", tp)} : Share{1, 1, whole};
  };
  switch (split) {
    case Split::kReplicated:
      return {1, 1, "replicated"};
    case Split::kColumn:
    case Split::kRow:
    case Split::kVocabulary:
      return by_tp(true, "");
    case Split::kKvHeads: {
      const int64_t local = std::max<int64_t>(1, kv_heads / tp);
      return {local, kv_heads,
              tp > kv_heads
                  ? fmt::format("{} KV heads, one replicated {}×", kv_heads, tp / kv_heads)
                  : fmt::format("{} of {} KV heads", local, kv_heads)};
    }
    case Split::kSharedColumn:
    case Split::kSharedRow:
      return by_tp(!rules.replicate_shared, "replicated under sequence parallelism");
    case Split::kVisionColumn:
    case Split::kVisionRow:
      return by_tp(rules.vision_sharded, "tower replicated");
    case Split::kExpertGate:
    case Split::kExpertUp:
    case Split::kExpertDown:
      if (rules.sizes.expert_parallel) return {1, 1, "whole"};
      return {1, rules.sizes.expert_ranks(), fmt::format("÷ {}", rules.sizes.expert_ranks())};
  }
  return {};
}

bool Divides(int64_t extent, const Share& share) { return extent % share.denominator == 0; }

int64_t PartOf(int64_t extent, const Share& share, bool rounds_up) {
  if (Divides(extent, share)) return extent / share.denominator * share.numerator;
  if (!rounds_up) return extent;
  return std::min(extent, CeilDiv(extent, share.denominator) * share.numerator);
}

int64_t KvHeadsOf(int64_t own, const Architecture& arch) {
  return std::max<int64_t>(1, own > 0 ? own : arch.kv_heads);
}

// Of the parts of a fused dimension; a scale's dimension is divided in proportion.
int64_t SumOfParts(const TensorSlice& slice, int64_t extent, const Architecture& arch,
                   const ShardingRules& rules) {
  int64_t total = 0;
  for (const RowPart& part : slice.parts) total += part.rows;
  if (total <= 0 || extent > total || total % extent != 0) return extent;
  int64_t sum = 0;
  for (const RowPart& part : slice.parts) {
    const Share share = ShareOf(part.split, KvHeadsOf(part.kv_heads, arch), rules);
    sum += PartOf(CeilDiv(part.rows, total / extent), share, true);
  }
  return std::min(sum, extent);
}

struct Local {
  Shape shape;
  Bytes bytes;
  std::string rule;
};

int64_t LocalExperts(int64_t experts, const Architecture& arch, const ShardingRules& rules) {
  if (!rules.sizes.expert_parallel) return experts;
  if (experts == arch.moe.experts) return rules.local_experts;
  return CeilDiv(experts, rules.sizes.ep());
}

Bytes BytesOf(DType dtype, const Shape& shape) { return SizeOf(dtype, shape).value_or(Bytes()); }

// The backends of MXFP4 pad the intermediate size and the width of experts, whatever the model is:
// what a rank holds is the whole times the padded over the true sizes.
void PadExperts(const ModuleRow& row, const Architecture& arch, const ShardingRules& rules,
                Local* local) {
  const bool matrix = row.shape.dims.size() >= (row.slice->stacked ? 3U : 2U);
  if (arch.quantization != "mxfp4" || row.slice->dim < 0 || !matrix) return;
  int64_t experts = std::max<int64_t>(row.experts, 1);
  int64_t kept = row.experts > 0 ? LocalExperts(row.experts, arch, rules) : 1;
  if (row.slice->stacked) {
    experts = std::max<int64_t>(row.shape.dims[0], 1);
    kept = LocalExperts(row.shape.dims[0], arch, rules);
  }
  int64_t bytes = BytesOf(row.device_dtype, row.shape).count();
  if (row.slice->stacked) bytes /= experts;
  const auto times = [&](int64_t padded, int64_t whole) {
    if (padded <= 0 || whole <= 0) return;
    const int64_t common = std::gcd(padded, whole);
    bytes = CeilDiv(internal::CheckedMul(bytes, padded / common), whole / common);
  };
  times(rules.expert_intermediate, arch.moe.intermediate);
  times(rules.expert_width, arch.moe.latent > 0 ? arch.moe.latent : arch.hidden);
  local->bytes = Bytes(bytes) * kept;
  local->rule += ", padded as MXFP4 backends pad";
}

// One end of a guess: the whole, or as small a part as there may be.
Local AtEnd(const ModuleRow& row, const ShardingRules& rules) {
  Local local;
  local.shape = row.shape;
  local.bytes = BytesOf(row.device_dtype, row.shape) * std::max<int64_t>(row.experts, 1);
  if (rules.guess == GuessEnd::kWhole) {
    local.rule = "guessed: whole at the dear end";
    return local;
  }
  const int64_t ranks = IsExpert(row.split) ? rules.sizes.expert_ranks() : rules.sizes.tp;
  local.bytes = Bytes(CeilDiv(local.bytes.count(), ranks));
  local.rule = fmt::format("guessed: ÷ {} at the cheap end", ranks);
  return local;
}

Local Central(const ModuleRow& row, const Architecture& arch, const ShardingRules& rules) {
  const TensorSlice& slice = *row.slice;
  Local local;
  local.shape = row.shape;
  std::vector<int64_t>& dims = local.shape.dims;
  const Share share = ShareOf(row.split, KvHeadsOf(row.kv_heads, arch), rules);
  local.rule = share.rule;
  if (slice.dim >= 0 && static_cast<size_t>(slice.dim) < dims.size()) {
    int64_t& extent = dims[static_cast<size_t>(slice.dim)];
    if (!slice.parts.empty()) {
      extent = SumOfParts(slice, extent, arch, rules);
      local.rule = fmt::format("heads ÷ TP {}", rules.sizes.tp);
    } else if (row.split == Split::kVocabulary) {
      const int64_t padded = RoundUp(extent, rules.vocabulary_multiple);
      local.rule = fmt::format("rows padded to {} ÷ TP {}", FormatCount(padded), rules.sizes.tp);
      extent = CeilDiv(padded, rules.sizes.tp);
    } else {
      if (!Divides(extent, share) && !slice.rounds_up) {
        local.rule = fmt::format("whole: {} {} leaves a rest", extent, share.rule);
      }
      extent = PartOf(extent, share, slice.rounds_up);
    }
  } else if (share.denominator > 1) {
    local.rule = "replicated";
  }
  if (slice.stacked && !dims.empty()) dims[0] = LocalExperts(dims[0], arch, rules);
  if (row.experts > 0) {
    dims.insert(dims.begin(), LocalExperts(row.experts, arch, rules));
  }
  local.bytes = BytesOf(row.device_dtype, local.shape);
  if (IsExpert(row.split) && rules.sizes.expert_parallel) {
    local.rule = fmt::format("experts ÷ EP {}", rules.sizes.ep());
    // An expert that is unlike the others stands on one rank: each is charged its part.
    if (row.experts == 0 && !slice.stacked) {
      local.bytes = Bytes(CeilDiv(local.bytes.count(), rules.sizes.ep()));
    }
  }
  if (IsExpert(row.split) && (row.experts > 0 || slice.stacked)) {
    PadExperts(row, arch, rules, &local);
  }
  if (slice.guessed) local.rule = "guessed: " + local.rule;
  return local;
}

}  // namespace

DeviceParam SliceTensor(const std::vector<const ModuleRow*>& rows, const Architecture& arch,
                        const ShardingRules& rules) {
  const ModuleRow& head = *rows.front();
  DeviceParam param;
  param.name = head.param;
  param.dtype = head.device_dtype;
  param.role = head.role;
  param.split = head.split;
  param.basis = Basis::kDerived;
  for (const ModuleRow* row : rows) {
    // Sequence parallelism keeps them whole in some models and not in others.
    const bool shared = rules.replicate_shared &&
                        (row->split == Split::kSharedColumn || row->split == Split::kSharedRow);
    const bool guessed = row->slice->guessed || shared;
    const bool end = guessed && rules.guess != GuessEnd::kCentral;
    Local local = end ? AtEnd(*row, rules) : Central(*row, arch, rules);
    if (guessed) param.basis = Basis::kAssumed;
    param.bytes += local.bytes;
    if (row == rows.front()) {
      param.shape = std::move(local.shape);
      param.rule = std::move(local.rule);
    } else if (!param.shape.dims.empty() && local.shape.dims.size() == param.shape.dims.size()) {
      const size_t dim = head.experts > 0 && param.shape.dims.size() > 1 ? 1 : 0;
      param.shape.dims[dim] += local.shape.dims[dim];  // gate and up, one after the other
    }
  }
  return param;
}

void CheckSlice(const ModuleRow& row, const Architecture& arch, const ShardingRules& rules,
                std::vector<Indivisible>* out) {
  const TensorSlice& slice = *row.slice;
  if (slice.guessed || slice.rounds_up || slice.dim < 0) return;
  if (static_cast<size_t>(slice.dim) >= row.shape.dims.size()) return;
  Indivisible problem;
  problem.param = row.param;
  problem.dimension = row.shape.dims[static_cast<size_t>(slice.dim)];
  problem.expert = IsExpert(row.split);
  const auto add = [&](const char* id, int64_t divisor, bool output) {
    problem.id = id;
    problem.divisor = divisor;
    problem.output = output;
    out->push_back(problem);
  };
  const int64_t tp = rules.sizes.tp;
  const auto check_kv = [&](int64_t heads) {
    if (tp <= heads ? heads % tp == 0 : tp % heads == 0) return;
    problem.dimension = heads;
    add("sharding.kv_heads", tp, true);
  };
  for (const RowPart& part : slice.parts) {
    if (part.split == Split::kKvHeads) return check_kv(KvHeadsOf(part.kv_heads, arch));
  }
  if (row.split == Split::kKvHeads) return check_kv(KvHeadsOf(row.kv_heads, arch));
  if (row.split == Split::kVocabulary) {
    problem.dimension = RoundUp(problem.dimension, rules.vocabulary_multiple);
    if (problem.dimension % tp != 0) add("sharding.vocabulary", tp, true);
    return;
  }
  const Share share = ShareOf(row.split, 1, rules);
  if (Divides(problem.dimension, share)) return;
  const bool row_split = row.split == Split::kRow || row.split == Split::kSharedRow ||
                         row.split == Split::kVisionRow || row.split == Split::kExpertDown;
  add(problem.expert ? "sharding.expert"
      : row_split    ? "sharding.row"
                     : "sharding.column",
      share.denominator, !row_split);
}

}  // namespace shardplan
