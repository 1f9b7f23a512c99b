#include "shardplan/base/basis.h"

#include "shardplan/base/file.h"

namespace shardplan {

std::string_view ToString(Basis basis) {
  switch (basis) {
    case Basis::kExact:
      return "exact";
    case Basis::kDerived:
      return "derived";
    case Basis::kMeasured:
      return "measured";
    case Basis::kAssumed:
      return "assumed";
  }
  return "assumed";
}

Result<Basis> ParseBasis(std::string_view text) {
  for (Basis basis : {Basis::kExact, Basis::kDerived, Basis::kMeasured, Basis::kAssumed}) {
    if (text == ToString(basis)) return basis;
  }
  return Fail(ErrorCode::kInvalidInput, Printable(text),
              "expected a basis: exact, derived, measured or assumed");
}

}  // namespace shardplan
