#include "shardplan/model/architecture.h"

#include <algorithm>

namespace shardplan {

bool KeepsState(AttentionKind kind) {
  return kind == AttentionKind::kKda || kind == AttentionKind::kGdn ||
         kind == AttentionKind::kMamba2 || kind == AttentionKind::kMamba1;
}

bool KeepsTokens(AttentionKind kind) { return !KeepsState(kind) && kind != AttentionKind::kNone; }

bool Architecture::is_moe(int64_t layer) const {
  if (moe.experts == 0) return false;
  if (moe.layer_is_moe.empty()) return layer >= moe.first_dense;
  return moe.layer_is_moe[static_cast<size_t>(layer)];
}

bool Architecture::has_state() const {
  return std::any_of(attention.begin(), attention.end(), KeepsState);
}

KvShape Architecture::KvOf(int64_t layer) const {
  if (sliding_kv && attention[static_cast<size_t>(layer)] == AttentionKind::kSliding) {
    return *sliding_kv;
  }
  return {kv_heads, head_dim, v_head_dim};
}

bool Architecture::has_kind(AttentionKind kind) const {
  return std::find(attention.begin(), attention.end(), kind) != attention.end();
}

int64_t Architecture::CountKind(AttentionKind kind, int64_t first, int64_t count) const {
  const auto begin = attention.begin() + first;
  return std::count(begin, begin + count, kind);
}

bool Architecture::is_hybrid() const {
  return has_state() && std::any_of(attention.begin(), attention.end(), KeepsTokens);
}

}  // namespace shardplan
