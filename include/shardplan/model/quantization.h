// How the weights of a linear layer are stored, format by format.
#ifndef SHARDPLAN_MODEL_QUANTIZATION_H_
#define SHARDPLAN_MODEL_QUANTIZATION_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shardplan/checkpoint/dtype.h"
#include "shardplan/checkpoint/shape.h"

namespace shardplan {

enum class QuantScheme {
  kPlain,       // one tensor in the row's dtype
  kFp8Block,    // F8_E4M3 and one scale per block: weight, weight_scale_inv
  kFp8Tensor,   // F8_E4M3 and one F32 scale: weight, weight_scale
  kFp8Channel,  // F8_E4M3 and one scale per output: weight, weight_scale
  kMxfp8,       // F8_E4M3 and one E8M0 scale per 32: weight, weight_scale
  kMxfp4,       // two FP4 values a byte and one E8M0 scale per 32: weight_packed, weight_scale
  kNvfp4,       // two FP4 values a byte, one F8 scale per 16 and one F32 scale: weight, …_2
  kAwq,         // packed along the outputs: qweight, qzeros, scales
  kGptq,        // packed along the inputs: qweight, qzeros, scales, g_idx
  kIntPacked,   // compressed-tensors: weight_packed, weight_scale, weight_shape
  kInt8,        // I8 and one scale per output: weight, weight_scale
  kBnb4,        // bitsandbytes NF4 or FP4: weight and its quantization state
};

// "plain", "fp8_block", "nvfp4", …
std::string_view ToString(QuantScheme scheme);

struct QuantFormat {
  QuantScheme scheme = QuantScheme::kPlain;
  int64_t block_out = 1;  // outputs that share a scale
  int64_t block_in = 1;   // inputs that share a scale; 0: all of them
  int64_t bits = 4;       // of one packed value (AWQ, GPTQ, packed integers)
  bool zero_points = false;
  bool act_order = false;           // inputs are permuted: an index per input is stored
  bool input_scale = false;         // a static scale of the activations is stored
  DType scale_dtype = DType::kF32;  // of the scales in the file
  // compressed-tensors' own names for NVFP4: weight_packed, weight_global_scale.
  bool compressed_names = false;
  // DeepSeek-V4's own names, ".weight" (I8 for FP4) and ".scale"; the engine keeps its E8M0 scales.
  bool short_names = false;

  bool operator==(const QuantFormat&) const = default;
  bool plain() const { return scheme == QuantScheme::kPlain; }
  // Values that share a 32-bit word.
  int64_t pack() const { return 32 / bits; }
  // Groups along `inputs`: the rows or columns of a scale.
  int64_t Groups(int64_t inputs) const;
};

// One tensor that a format makes of a weight.
struct StoredPart {
  std::string suffix;  // ".qweight"
  DType dtype = DType::kBF16;
  Shape shape;
  bool holds_weights = false;  // the rest are scales, zero points and indices
};

// The tensors that store [out, in] in `format`, without a bias; `plain` is the dtype of what is not
// quantized. Sources: AutoAWQ and GPTQ checkpoints, compressed-tensors 0.10, ModelOpt exports,
// bitsandbytes 0.45; published totals where there are any (tests/model/family_test.cc).
std::vector<StoredPart> StoredParts(const QuantFormat& format, int64_t out, int64_t in,
                                    DType plain);

}  // namespace shardplan

#endif  // SHARDPLAN_MODEL_QUANTIZATION_H_
