#include "shardplan/base/bytes.h"

#include <bit>
#include <cstdint>

namespace shardplan {

Bytes NextPowerOfTwo(Bytes size) {
  if (size.count() <= 0) return Bytes();
  constexpr int64_t kLargest = int64_t{1} << 62;
  if (size.count() > kLargest) return Bytes(internal::CheckedMul(kLargest, 2));  // which throws
  return Bytes(static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(size.count()))));
}

}  // namespace shardplan
