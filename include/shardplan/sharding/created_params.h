// What an engine creates on a rank for a linear, or for the experts of a layer, in a format.
#ifndef SHARDPLAN_SHARDING_CREATED_PARAMS_H_
#define SHARDPLAN_SHARDING_CREATED_PARAMS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "shardplan/checkpoint/dtype.h"
#include "shardplan/checkpoint/shape.h"
#include "shardplan/model/quantization.h"

namespace shardplan {

struct CreatedPart {
  std::string suffix;  // ".weight", "w13_weight"
  DType dtype = DType::kBF16;
  Shape shape;
  std::string rule;  // what a part that holds no weights is: "one scale a block"; empty for weights
};

// The slice of a fused linear that one rank holds.
struct LocalLinear {
  std::vector<int64_t> members;  // outputs of each projection in it
  int64_t rows = 0;              // their sum, padded as the engine pads it
  int64_t in = 0;
  int64_t whole_in = 0;        // before a row-parallel slice: GPTQ's order needs all groups
  DType dtype = DType::kBF16;  // of what is not quantized
};

// Source: vllm/model_executor/layers/quantization (d29f7f5c); golden parameters of FP8, NVFP4 and
// AWQ models. GPTQ, packed integers, INT8 and bitsandbytes from the layouts of their methods there.
// What a method creates for loading alone and drops afterwards (permutations without act-order) is
// left out.
std::vector<CreatedPart> CreatedLinear(const QuantFormat& format, const LocalLinear& linear);

// The routed experts of one layer that one rank holds: gate and up in w13, down in w2.
struct LocalExperts {
  int64_t experts = 0;
  int64_t input_scales = 0;  // experts whose NVFP4 input scales are kept
  int64_t projections = 2;   // in w13: gate and up, or up alone
  int64_t intermediate = 0;
  int64_t width = 0;
  bool bias = false;
  DType dtype = DType::kBF16;
};
std::vector<CreatedPart> CreatedExperts(const QuantFormat& format, const LocalExperts& experts);

}  // namespace shardplan

#endif  // SHARDPLAN_SHARDING_CREATED_PARAMS_H_
