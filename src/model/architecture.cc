#include "shardplan/model/architecture.h"

#include <algorithm>

namespace shardplan {

bool Architecture::has_kind(AttentionKind kind) const {
  return std::find(attention.begin(), attention.end(), kind) != attention.end();
}

int64_t Architecture::CountKind(AttentionKind kind, int64_t first, int64_t count) const {
  const auto begin = attention.begin() + first;
  return std::count(begin, begin + count, kind);
}

bool Architecture::is_hybrid() const {
  return has_kind(AttentionKind::kKda) &&
         (has_kind(AttentionKind::kMla) || has_kind(AttentionKind::kFull));
}

}  // namespace shardplan
