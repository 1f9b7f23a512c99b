// The dimensions of a tensor.
#ifndef SHARDPLAN_CHECKPOINT_SHAPE_H_
#define SHARDPLAN_CHECKPOINT_SHAPE_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "shardplan/base/bytes.h"
#include "shardplan/checkpoint/dtype.h"

namespace shardplan {

// Torch order: a linear layer's weight is [out, in]. An empty shape is a scalar of one element.
struct Shape {
  std::vector<int64_t> dims;

  Shape() = default;
  Shape(std::initializer_list<int64_t> d) : dims(d) {}
  explicit Shape(std::vector<int64_t> d) : dims(std::move(d)) {}

  friend bool operator==(const Shape&, const Shape&) = default;
  friend auto operator<=>(const Shape&, const Shape&) = default;

  // Product of the dimensions; throws SizeOverflow.
  int64_t Elements() const;

  std::string ToString() const;  // "[3072, 1792]"
};

// elements × bits / 8, throwing SizeOverflow; nothing when the bits don't fill whole bytes (three
// F4 elements), which safetensors forbids.
std::optional<Bytes> SizeOf(DType dtype, const Shape& shape);

}  // namespace shardplan

#endif  // SHARDPLAN_CHECKPOINT_SHAPE_H_
