// Sums up what a checkpoint holds while its records pass by.
#ifndef SHARDPLAN_MODEL_CONTENTS_BUILDER_H_
#define SHARDPLAN_MODEL_CONTENTS_BUILDER_H_

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "shardplan/model/contents.h"

namespace shardplan {

class ContentsBuilder {
 public:
  explicit ContentsBuilder(const TensorTable& table);

  // One tensor of `row` in `layer`; half a million of these must cost next to nothing. Rows outside
  // the layers and leftovers are not counted here.
  void AddToLayer(const ModuleRow& row, int64_t layer, const Amount& tensor) {
    if (layer < 0 || row.role == Role::kLeftover) return;
    layers_[static_cast<size_t>(IndexOf(row, layer))].amount += tensor;
  }

  // `count` tensors of one module and dtype.
  void AddGroup(const ModuleRow& row, const StoredTensor& tensor, DType dtype, int64_t count);

  // A tensor that no row explains; `leftover` where it is one of those that no engine loads.
  void AddUnexplained(const std::string& pattern, DType dtype, const Shape& shape, bool leftover);

  Contents Take();

 private:
  // Draft layers follow the decoder's, also those that a list of their own counts from 0.
  int64_t IndexOf(const ModuleRow& row, int64_t layer) const {
    return row.role == Role::kDraft && layer < decoder_layers_ ? decoder_layers_ + layer : layer;
  }

  int64_t decoder_layers_ = 0;
  std::vector<TensorGroup> groups_;
  std::vector<LayerContents> layers_;  // by number
  std::map<std::tuple<std::string, DType, Shape>, TensorGroup> unexplained_;
};

}  // namespace shardplan

#endif  // SHARDPLAN_MODEL_CONTENTS_BUILDER_H_
