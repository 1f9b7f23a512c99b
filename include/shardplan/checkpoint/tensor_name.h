// Half a million tensor names, as a few dozen patterns.
#ifndef SHARDPLAN_CHECKPOINT_TENSOR_NAME_H_
#define SHARDPLAN_CHECKPOINT_TENSOR_NAME_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace shardplan {

// The numbers taken out of a name, in order of appearance; unused places are -1.
using NameIndices = std::array<int32_t, 3>;
constexpr NameIndices kNoIndices = {-1, -1, -1};

// Splits "model.layers.3.mlp.experts.17.w1.weight" into the pattern
// "model.layers.{}.mlp.experts.{}.w1.weight" and the indices {3, 17, -1}.
//
// A segment between dots counts as an index when it is a plain decimal number without leading
// zeros and below 10,000,000; at most three are taken, later ones stay in the pattern. The split is
// lossless: JoinTensorName gives the name back, and different names never share pattern and
// indices (a literal "{}" in a name is escaped as "{{}}").
//
// `pattern` is a caller-owned buffer that is overwritten, so that a loop allocates once.
void SplitTensorName(std::string_view name, std::string* pattern, NameIndices* indices);

std::string JoinTensorName(std::string_view pattern, const NameIndices& indices);

}  // namespace shardplan

#endif  // SHARDPLAN_CHECKPOINT_TENSOR_NAME_H_
