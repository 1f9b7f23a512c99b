// Compiled once per case (CMakeLists.txt): everything but the control must be refused.
#include "shardplan/base/basis.h"
#include "shardplan/base/bytes.h"
#include "shardplan/base/units.h"

namespace shardplan {

Bytes Budget(Gibibytes size) { return size.ToBytes(); }

void Use() {
  const Bytes size(5);
#if defined(SHARDPLAN_CASE_bytes_plus_int)
  [[maybe_unused]] const auto sum = size + 1;
#elif defined(SHARDPLAN_CASE_bytes_from_int)
  [[maybe_unused]] const Bytes implicit = 5;
#elif defined(SHARDPLAN_CASE_int_from_bytes)
  [[maybe_unused]] const long implicit = size;
#elif defined(SHARDPLAN_CASE_bytes_times_bytes)
  [[maybe_unused]] const auto area = size * size;
#elif defined(SHARDPLAN_CASE_gigabytes_as_gibibytes)
  [[maybe_unused]] const Bytes budget = Budget(Gigabytes(80));
#elif defined(SHARDPLAN_CASE_gigabytes_from_bytes)
  [[maybe_unused]] const Gigabytes decimal = size;
#elif defined(SHARDPLAN_CASE_bytes_plus_gibibytes)
  [[maybe_unused]] const auto sum = size + Gibibytes(1);
#elif defined(SHARDPLAN_CASE_range_from_bytes)
  [[maybe_unused]] const Range range = size;
#elif defined(SHARDPLAN_CASE_control)
  [[maybe_unused]] const auto sum = size + Bytes(1);
  [[maybe_unused]] const Bytes budget = Budget(Gibibytes(80)) + size * 2;
  [[maybe_unused]] const Range range(size);
#else
#error "name a case"
#endif
}

}  // namespace shardplan
