// Slices of tensors whose split was made up from names and shapes (TensorSlice).
#ifndef SHARDPLAN_SHARDING_SLICED_TENSOR_H_
#define SHARDPLAN_SHARDING_SLICED_TENSOR_H_

#include <vector>

#include "shardplan/sharding/device_weights.h"

namespace shardplan {

// What a rank holds of rows that share a parameter: all of them have a slice. At rules.guess, a
// guessed row is the TP-th (routed experts: the expert ranks' -th) part rounded up, or whole. A
// guessed dimension that does not divide stays whole.
DeviceParam SliceTensor(const std::vector<const ModuleRow*>& rows, const Architecture& arch,
                        const ShardingRules& rules);

// A recognised dimension that does not divide is as illegal as in a known family; a guessed one is
// not.
void CheckSlice(const ModuleRow& row, const Architecture& arch, const ShardingRules& rules,
                std::vector<Indivisible>* out);

}  // namespace shardplan

#endif  // SHARDPLAN_SHARDING_SLICED_TENSOR_H_
