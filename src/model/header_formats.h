// The formats of a checkpoint's linears, read from the tensors themselves.
#ifndef SHARDPLAN_MODEL_HEADER_FORMATS_H_
#define SHARDPLAN_MODEL_HEADER_FORMATS_H_

#include <map>
#include <string>
#include <vector>

#include "shardplan/base/finding.h"
#include "shardplan/checkpoint/inventory.h"
#include "shardplan/model/tensor_table.h"

namespace shardplan {

// One tensor beside its module: what its header says.
struct HeaderPart {
  DType dtype = DType::kBF16;
  Shape shape;
};

// The format that stores [out, in] in these tensors (by suffix: ".weight", ".weight_scale_inv" …).
// `expected` is what the config says; it settles what the tensors cannot tell (whether inputs are
// permuted) and is returned where they tell nothing.
QuantFormat FormatFromParts(const std::map<std::string, HeaderPart>& parts, int64_t out, int64_t in,
                            const QuantFormat& expected);

// Gives every linear of the table the format that its tensors have in the file, layer by layer.
// Where that is another kind than the config says, the engine still creates what the config says
// (device_quant) and a warning (model.quantization_differs) names the modules; where the config
// says nothing at all, the file decides for both and a warning (model.quantization_unsaid) says so.
void ApplyHeaderFormats(const Inventory& inventory, TensorTable* table,
                        std::vector<Finding>* findings);

}  // namespace shardplan

#endif  // SHARDPLAN_MODEL_HEADER_FORMATS_H_
