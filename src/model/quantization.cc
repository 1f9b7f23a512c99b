#include "shardplan/model/quantization.h"

#include "shardplan/base/bytes.h"

namespace shardplan {
namespace {

constexpr int64_t kBnbBlock = 64;         // values that share a first scale
constexpr int64_t kBnbNestedBlock = 256;  // first scales that share a second one

// bitsandbytes with double quantization: first scales in 8 bits, their own scales in F32, the two
// code books, and a JSON blob that says so.
void AddBnb(int64_t weights, std::vector<StoredPart>* out) {
  const int64_t blocks = CeilDiv(weights, kBnbBlock);
  out->push_back({".weight", DType::kU8, Shape{CeilDiv(weights, 2), 1}, true});
  out->push_back({".weight.absmax", DType::kU8, Shape{blocks}, false});
  out->push_back(
      {".weight.nested_absmax", DType::kF32, Shape{CeilDiv(blocks, kBnbNestedBlock)}, false});
  out->push_back({".weight.nested_quant_map", DType::kF32, Shape{256}, false});
  out->push_back({".weight.quant_map", DType::kF32, Shape{16}, false});
}

}  // namespace

std::string_view ToString(QuantScheme scheme) {
  switch (scheme) {
    case QuantScheme::kPlain:
      return "plain";
    case QuantScheme::kFp8Block:
      return "fp8_block";
    case QuantScheme::kFp8Tensor:
      return "fp8_tensor";
    case QuantScheme::kFp8Channel:
      return "fp8_channel";
    case QuantScheme::kMxfp8:
      return "mxfp8";
    case QuantScheme::kMxfp4:
      return "mxfp4";
    case QuantScheme::kNvfp4:
      return "nvfp4";
    case QuantScheme::kAwq:
      return "awq";
    case QuantScheme::kGptq:
      return "gptq";
    case QuantScheme::kIntPacked:
      return "int_packed";
    case QuantScheme::kInt8:
      return "int8";
    case QuantScheme::kBnb4:
      return "bnb_4bit";
  }
  return "plain";
}

int64_t QuantFormat::Groups(int64_t inputs) const {
  return block_in == 0 ? 1 : CeilDiv(inputs, block_in);
}

std::vector<StoredPart> StoredParts(const QuantFormat& f, int64_t o, int64_t i, DType plain) {
  std::vector<StoredPart> out;
  const auto weight = [&](const char* suffix, DType dtype, Shape shape) {
    out.push_back({suffix, dtype, std::move(shape), true});
  };
  const auto extra = [&](const char* suffix, DType dtype, Shape shape) {
    out.push_back({suffix, dtype, std::move(shape), false});
  };
  const int64_t groups = f.Groups(i);
  switch (f.scheme) {
    case QuantScheme::kPlain:
      weight(".weight", plain, Shape{o, i});
      break;
    case QuantScheme::kFp8Block:
      weight(".weight", DType::kF8E4M3, Shape{o, i});
      extra(f.short_names        ? ".scale"
            : f.compressed_names ? ".weight_scale"
                                 : ".weight_scale_inv",
            f.scale_dtype, Shape{CeilDiv(o, f.block_out), groups});
      break;
    case QuantScheme::kFp8Tensor:
      weight(".weight", DType::kF8E4M3, Shape{o, i});
      extra(".weight_scale", f.scale_dtype, Shape{});
      break;
    case QuantScheme::kFp8Channel:
      weight(".weight", DType::kF8E4M3, Shape{o, i});
      extra(".weight_scale", f.scale_dtype, Shape{o, 1});
      break;
    case QuantScheme::kMxfp8:
      weight(".weight", DType::kF8E4M3, Shape{o, i});
      extra(".weight_scale", DType::kU8, Shape{o, groups});
      break;
    case QuantScheme::kMxfp4:
      if (f.short_names) {
        weight(".weight", DType::kI8, Shape{o, CeilDiv(i, 2)});
        extra(".scale", DType::kF8E8M0, Shape{o, groups});
        break;
      }
      weight(".weight_packed", DType::kU8, Shape{o, CeilDiv(i, 2)});
      extra(".weight_scale", DType::kU8, Shape{o, groups});
      break;
    case QuantScheme::kNvfp4:
      weight(f.compressed_names ? ".weight_packed" : ".weight", DType::kU8,
             Shape{o, CeilDiv(i, 2)});
      extra(".weight_scale", DType::kF8E4M3, Shape{o, groups});
      extra(f.compressed_names ? ".weight_global_scale" : ".weight_scale_2", DType::kF32,
            f.compressed_names ? Shape{1} : Shape{});
      break;
    case QuantScheme::kAwq:
      weight(".qweight", DType::kI32, Shape{i, CeilDiv(o, f.pack())});
      if (f.zero_points) extra(".qzeros", DType::kI32, Shape{groups, CeilDiv(o, f.pack())});
      extra(".scales", f.scale_dtype, Shape{groups, o});
      break;
    case QuantScheme::kGptq:
      // Zero points and the index are stored by every export, also where they say nothing.
      weight(".qweight", DType::kI32, Shape{CeilDiv(i, f.pack()), o});
      extra(".qzeros", DType::kI32, Shape{groups, CeilDiv(o, f.pack())});
      extra(".scales", f.scale_dtype, Shape{groups, o});
      extra(".g_idx", DType::kI32, Shape{i});
      break;
    case QuantScheme::kIntPacked:
      weight(".weight_packed", DType::kI32, Shape{o, CeilDiv(i, f.pack())});
      extra(".weight_scale", f.scale_dtype, Shape{o, groups});
      extra(".weight_shape", DType::kI32, Shape{2});
      if (f.zero_points) {
        extra(".weight_zero_point", DType::kI32, Shape{CeilDiv(o, f.pack()), groups});
      }
      if (f.act_order) extra(".weight_g_idx", DType::kI32, Shape{i});
      break;
    case QuantScheme::kInt8:
      weight(".weight", DType::kI8, Shape{o, i});
      extra(".weight_scale", f.scale_dtype, Shape{o, 1});
      break;
    case QuantScheme::kBnb4:
      AddBnb(internal::CheckedMul(o, i), &out);
      break;
  }
  if (f.input_scale) {
    extra(f.compressed_names ? ".input_global_scale" : ".input_scale", DType::kF32,
          f.compressed_names ? Shape{1} : Shape{});
  }
  return out;
}

}  // namespace shardplan
