#include "shardplan/checkpoint/shape.h"

#include <algorithm>

namespace shardplan {

int64_t Shape::Elements() const {
  // A zero anywhere makes the product zero, whatever the other factors would overflow to.
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return 0;
  int64_t elements = 1;
  for (const int64_t dim : dims) elements = internal::CheckedMul(elements, dim);
  return elements;
}

std::string Shape::ToString() const {
  std::string out = "[";
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) out += ", ";
    out += std::to_string(dims[i]);
  }
  return out + "]";
}

std::optional<Bytes> SizeOf(DType dtype, const Shape& shape) {
  // Whole bytes are multiplied as bytes, so that a tensor of up to 2^63 bytes does not overflow on
  // the way through bits. Odd widths go by groups: eight elements of b bits fill b bytes.
  const int64_t elements = shape.Elements();
  const int bits = BitsOf(dtype);
  if (bits % 8 == 0) return Bytes(internal::CheckedMul(elements, bits / 8));
  const int64_t rest_bits = elements % 8 * bits;
  if (rest_bits % 8 != 0) return std::nullopt;
  return Bytes(internal::CheckedAdd(internal::CheckedMul(elements / 8, bits), rest_bits / 8));
}

}  // namespace shardplan
