#include "shardplan/base/bytes.h"

namespace shardplan {

Bytes NextPowerOfTwo(Bytes size) {
  if (size.count() <= 0) return Bytes();
  int64_t power = 1;
  while (power < size.count()) power = internal::CheckedMul(power, 2);
  return Bytes(power);
}

}  // namespace shardplan
