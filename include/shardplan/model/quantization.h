// How the weights of a linear layer are stored.
#ifndef SHARDPLAN_MODEL_QUANTIZATION_H_
#define SHARDPLAN_MODEL_QUANTIZATION_H_

#include <cstdint>
#include <string_view>

#include "shardplan/checkpoint/dtype.h"

namespace shardplan {

enum class QuantScheme {
  kPlain,     // one tensor in the row's dtype
  kFp8Block,  // F8_E4M3 and one F32 scale per block: weight, weight_scale_inv
  kMxfp4,     // two FP4 values a byte and one E8M0 scale per 32: weight_packed, weight_scale
};

std::string_view ToString(QuantScheme scheme);  // "plain", "fp8_block", "mxfp4"

struct QuantFormat {
  QuantScheme scheme = QuantScheme::kPlain;
  int64_t block_out = 1;            // rows that share a scale
  int64_t block_in = 1;             // columns that share a scale
  DType scale_dtype = DType::kF32;  // of block scales in the file; the engine keeps F32
};

}  // namespace shardplan

#endif  // SHARDPLAN_MODEL_QUANTIZATION_H_
