// How a number is known.
#ifndef SHARDPLAN_BASE_BASIS_H_
#define SHARDPLAN_BASE_BASIS_H_

#include <string>
#include <string_view>

#include "shardplan/base/bytes.h"
#include "shardplan/base/result.h"

namespace shardplan {

// Ordered from the firmest to the softest, so that the basis of a sum is the maximum of its parts.
enum class Basis {
  kExact,     // arithmetic on the checkpoint's headers
  kDerived,   // arithmetic on the config or on engine rules
  kMeasured,  // a number taken from a run, with where and when
  kAssumed,   // a labelled default with a range
};

std::string_view ToString(Basis basis);  // "exact", "derived", "measured", "assumed"
Result<Basis> ParseBasis(std::string_view text);

inline Basis Softer(Basis a, Basis b) { return a < b ? b : a; }

// A byte count with its range. low ≤ central ≤ high; all equal where nothing is uncertain.
struct Range {
  Bytes low;
  Bytes central;
  Bytes high;

  Range() = default;
  explicit Range(Bytes exact) : low(exact), central(exact), high(exact) {}
  Range(Bytes l, Bytes c, Bytes h) : low(l), central(c), high(h) {}

  friend Range operator+(Range a, Range b) {
    return Range(a.low + b.low, a.central + b.central, a.high + b.high);
  }
  Range& operator+=(Range b) { return *this = *this + b; }
};

}  // namespace shardplan

#endif  // SHARDPLAN_BASE_BASIS_H_
