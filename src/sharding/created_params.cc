#include "shardplan/sharding/created_params.h"

#include "shardplan/base/bytes.h"

namespace shardplan {
namespace {

constexpr const char* kPerBlock = "one scale a block";
constexpr const char* kPerGroup = "one scale a group";
constexpr const char* kPerOutput = "one scale an output";
constexpr const char* kPerProjection = "one a projection";
constexpr const char* kZeroPoints = "zero points";
constexpr const char* kPermutation = "the order of the inputs";

// Block scales are kept in F32, whatever the file has; only DeepSeek-V4's stay as they are.
DType BlockScale(const QuantFormat& format) {
  return format.short_names ? format.scale_dtype : DType::kF32;
}

}  // namespace

std::vector<CreatedPart> CreatedLinear(const QuantFormat& f, const LocalLinear& l) {
  std::vector<CreatedPart> out;
  const auto add = [&](const char* suffix, DType dtype, Shape shape, const char* rule = "") {
    out.push_back({suffix, dtype, std::move(shape), rule});
  };
  const int64_t groups = f.Groups(l.in);
  const auto projections = static_cast<int64_t>(l.members.size());
  switch (f.scheme) {
    case QuantScheme::kPlain:
      add(".weight", l.dtype, Shape{l.rows, l.in});
      break;
    case QuantScheme::kFp8Block: {
      int64_t scale_rows = 0;  // a block never spans two projections
      for (const int64_t rows : l.members) scale_rows += CeilDiv(rows, f.block_out);
      add(".weight", DType::kF8E4M3, Shape{l.rows, l.in});
      add(f.compressed_names ? ".weight_scale" : ".weight_scale_inv", BlockScale(f),
          Shape{scale_rows, groups}, kPerBlock);
      break;
    }
    case QuantScheme::kFp8Tensor:
      add(".weight", DType::kF8E4M3, Shape{l.rows, l.in});
      add(".weight_scale", DType::kF32, Shape{projections}, kPerProjection);
      if (f.input_scale) add(".input_scale", DType::kF32, Shape{projections}, kPerProjection);
      break;
    case QuantScheme::kFp8Channel:
    case QuantScheme::kInt8:
      add(".weight", f.scheme == QuantScheme::kInt8 ? DType::kI8 : DType::kF8E4M3,
          Shape{l.rows, l.in});
      add(".weight_scale", DType::kF32, Shape{l.rows, 1}, kPerOutput);
      if (f.input_scale) add(".input_scale", DType::kF32, Shape{projections}, kPerProjection);
      break;
    case QuantScheme::kMxfp8:
      add(".weight", DType::kF8E4M3, Shape{l.rows, l.in});
      add(".weight_scale", DType::kU8, Shape{l.rows, groups}, kPerGroup);
      break;
    case QuantScheme::kMxfp4:
      add(".weight", DType::kU8, Shape{l.rows, CeilDiv(l.in, 2)});
      add(".weight_scale", DType::kU8, Shape{l.rows, groups}, kPerGroup);
      break;
    case QuantScheme::kNvfp4:
      add(".weight", DType::kU8, Shape{l.rows, CeilDiv(l.in, 2)});
      if (f.input_scale) add(".input_scale", DType::kF32, Shape{projections}, kPerProjection);
      add(".weight_scale_2", DType::kF32, Shape{projections}, kPerProjection);
      add(".weight_scale", DType::kF8E4M3, Shape{l.rows, groups}, kPerGroup);
      break;
    case QuantScheme::kAwq:
      // Zero points are created whether or not the checkpoint has any.
      add(".qweight", DType::kI32, Shape{l.in, CeilDiv(l.rows, f.pack())});
      add(".qzeros", DType::kI32, Shape{groups, CeilDiv(l.rows, f.pack())}, kZeroPoints);
      add(".scales", l.dtype, Shape{groups, l.rows}, kPerGroup);
      break;
    case QuantScheme::kGptq: {
      // A permuted row-parallel slice meets every group, so each rank keeps all scales.
      const int64_t kept = f.act_order ? f.Groups(l.whole_in) : groups;
      add(".qweight", DType::kI32, Shape{CeilDiv(l.in, f.pack()), l.rows});
      if (f.act_order) add(".g_idx", DType::kI32, Shape{l.in}, kPermutation);
      add(".qzeros", DType::kI32, Shape{kept, CeilDiv(l.rows, f.pack())}, kZeroPoints);
      add(".scales", l.dtype, Shape{kept, l.rows}, kPerGroup);
      break;
    }
    case QuantScheme::kIntPacked: {
      const int64_t kept = f.act_order ? f.Groups(l.whole_in) : groups;
      add(".weight_packed", DType::kI32, Shape{l.rows, CeilDiv(l.in, f.pack())});
      add(".weight_scale", l.dtype, Shape{l.rows, kept}, kPerGroup);
      if (f.zero_points) {
        add(".weight_zero_point", DType::kI32, Shape{CeilDiv(l.rows, f.pack()), kept}, kZeroPoints);
      }
      if (f.act_order) add(".weight_g_idx", DType::kI32, Shape{l.in}, kPermutation);
      break;
    }
    case QuantScheme::kBnb4: {
      const int64_t weights = internal::CheckedMul(l.rows, l.in);
      add(".weight", DType::kU8, Shape{CeilDiv(weights, 2), 1});
      add(".weight.absmax", DType::kF32, Shape{CeilDiv(weights, 64)}, kPerBlock);
      break;
    }
  }
  return out;
}

std::vector<CreatedPart> CreatedExperts(const QuantFormat& f, const LocalExperts& x) {
  std::vector<CreatedPart> out;
  const int64_t e = x.experts;
  const int64_t n = x.intermediate;
  const int64_t k = x.width;
  const int64_t n13 = x.projections * n;
  const auto add = [&](const char* suffix, DType dtype, Shape shape, const char* rule = "") {
    out.push_back({suffix, dtype, std::move(shape), rule});
  };
  // Weights first, as most methods create them.
  const auto weights = [&](DType dtype, int64_t packed) {
    add("w13_weight", dtype, Shape{e, n13, CeilDiv(k, packed)});
    add("w2_weight", dtype, Shape{e, k, CeilDiv(n, packed)});
  };
  const auto input_scales = [&] {
    if (!f.input_scale) return;
    const bool nvfp4 = f.scheme == QuantScheme::kNvfp4;
    const int64_t kept = nvfp4 ? x.input_scales : e;
    add("w13_input_scale", DType::kF32, nvfp4 ? Shape{kept, x.projections} : Shape{kept},
        kPerProjection);
    add("w2_input_scale", DType::kF32, Shape{kept}, kPerProjection);
  };
  switch (f.scheme) {
    case QuantScheme::kPlain:
      weights(x.dtype, 1);
      break;
    case QuantScheme::kFp8Block: {
      weights(DType::kF8E4M3, 1);
      add(f.compressed_names ? "w13_weight_scale" : "w13_weight_scale_inv", BlockScale(f),
          Shape{e, x.projections * CeilDiv(n, f.block_out), f.Groups(k)}, kPerBlock);
      add(f.compressed_names ? "w2_weight_scale" : "w2_weight_scale_inv", BlockScale(f),
          Shape{e, CeilDiv(k, f.block_out), f.Groups(n)}, kPerBlock);
      break;
    }
    case QuantScheme::kFp8Tensor:
      weights(DType::kF8E4M3, 1);
      add("w13_weight_scale", DType::kF32, Shape{e, x.projections}, kPerProjection);
      add("w2_weight_scale", DType::kF32, Shape{e}, kPerProjection);
      input_scales();
      break;
    case QuantScheme::kFp8Channel:
    case QuantScheme::kInt8:
      weights(f.scheme == QuantScheme::kInt8 ? DType::kI8 : DType::kF8E4M3, 1);
      add("w13_weight_scale", DType::kF32, Shape{e, n13, 1}, kPerOutput);
      add("w2_weight_scale", DType::kF32, Shape{e, k, 1}, kPerOutput);
      input_scales();
      break;
    case QuantScheme::kMxfp8:
      weights(DType::kF8E4M3, 1);
      add("w13_weight_scale", DType::kU8, Shape{e, n13, f.Groups(k)}, kPerGroup);
      add("w2_weight_scale", DType::kU8, Shape{e, k, f.Groups(n)}, kPerGroup);
      break;
    case QuantScheme::kMxfp4:
      // Weight and scale in turn.
      add("w13_weight", DType::kU8, Shape{e, n13, CeilDiv(k, 2)});
      add("w13_weight_scale", DType::kU8, Shape{e, n13, f.Groups(k)}, kPerGroup);
      add("w2_weight", DType::kU8, Shape{e, k, CeilDiv(n, 2)});
      add("w2_weight_scale", DType::kU8, Shape{e, k, f.Groups(n)}, kPerGroup);
      break;
    case QuantScheme::kNvfp4:
      weights(DType::kU8, 2);
      add("w13_weight_scale", DType::kF8E4M3, Shape{e, n13, f.Groups(k)}, kPerGroup);
      add("w2_weight_scale", DType::kF8E4M3, Shape{e, k, f.Groups(n)}, kPerGroup);
      add("w13_weight_scale_2", DType::kF32, Shape{e, x.projections}, kPerProjection);
      add("w2_weight_scale_2", DType::kF32, Shape{e}, kPerProjection);
      input_scales();
      break;
    case QuantScheme::kAwq:
      add("w13_qweight", DType::kI32, Shape{e, k, CeilDiv(n13, f.pack())});
      add("w2_qweight", DType::kI32, Shape{e, n, CeilDiv(k, f.pack())});
      add("w13_scales", x.dtype, Shape{e, f.Groups(k), n13}, kPerGroup);
      add("w2_scales", x.dtype, Shape{e, f.Groups(n), k}, kPerGroup);
      add("w13_qzeros", DType::kI32, Shape{e, f.Groups(k), CeilDiv(n13, f.pack())}, kZeroPoints);
      add("w2_qzeros", DType::kI32, Shape{e, f.Groups(n), CeilDiv(k, f.pack())}, kZeroPoints);
      break;
    case QuantScheme::kGptq:
    case QuantScheme::kIntPacked: {
      const bool gptq = f.scheme == QuantScheme::kGptq;
      add(gptq ? "w13_qweight" : "w13_weight_packed", DType::kI32,
          Shape{e, CeilDiv(k, f.pack()), n13});
      add(gptq ? "w2_qweight" : "w2_weight_packed", DType::kI32, Shape{e, CeilDiv(n, f.pack()), k});
      add(gptq ? "w13_scales" : "w13_weight_scale", x.dtype, Shape{e, f.Groups(k), n13}, kPerGroup);
      add(gptq ? "w2_scales" : "w2_weight_scale", x.dtype, Shape{e, f.Groups(n), k}, kPerGroup);
      if (gptq) {
        add("w13_qzeros", DType::kI32, Shape{e, f.Groups(k), CeilDiv(n13, f.pack())}, kZeroPoints);
        add("w2_qzeros", DType::kI32, Shape{e, f.Groups(n), CeilDiv(k, f.pack())}, kZeroPoints);
      }
      if (f.act_order) {
        for (const char* order : {"g_idx", "g_idx_sort_indices"}) {
          out.push_back({std::string("w13_") + order, DType::kI32, Shape{e, k}, kPermutation});
          out.push_back({std::string("w2_") + order, DType::kI32, Shape{e, n}, kPermutation});
        }
      }
      break;
    }
    case QuantScheme::kBnb4: {
      const int64_t up = internal::CheckedMul(n13, k);
      const int64_t down = internal::CheckedMul(n, k);
      add("w13_weight", DType::kU8, Shape{e, CeilDiv(up, 2), 1});
      add("w2_weight", DType::kU8, Shape{e, CeilDiv(down, 2), 1});
      add("w13_weight.absmax", DType::kF32, Shape{e, CeilDiv(up, 64)}, kPerBlock);
      add("w2_weight.absmax", DType::kF32, Shape{e, CeilDiv(down, 64)}, kPerBlock);
      break;
    }
  }
  if (x.bias) {
    add("w13_bias", x.dtype, Shape{e, n13});
    add("w2_bias", x.dtype, Shape{e, k});
  }
  return out;
}

}  // namespace shardplan
