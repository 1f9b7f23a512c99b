#include "model/matcher.h"

#include <string_view>
#include <utility>

namespace shardplan {
namespace {

struct PatternSlots {
  std::string pattern;
  std::array<Slot, 3> slots;
};

// "model.layers.{L}.mlp.experts.{E}.w1.weight" → its pattern and what each index stands for.
PatternSlots SlotsOf(std::string_view name) {
  PatternSlots out;
  size_t used = 0;
  size_t start = 0;
  while (start <= name.size()) {
    size_t end = name.find('.', start);
    if (end == std::string_view::npos) end = name.size();
    const std::string_view segment = name.substr(start, end - start);
    Slot slot;
    if (segment == "{L}") slot.kind = SlotKind::kLayer;
    if (segment == "{E}") slot.kind = SlotKind::kExpert;
    if (segment == "{B}") slot.kind = SlotKind::kBlock;
    const bool number = !segment.empty() && segment.size() < 8 &&
                        segment.find_first_not_of("0123456789") == std::string_view::npos;
    if (number) {
      slot.kind = SlotKind::kFixed;
      slot.value = static_cast<int32_t>(std::stol(std::string(segment)));
    }
    if (start > 0) out.pattern += '.';
    if (slot.kind != SlotKind::kNone && used < out.slots.size()) {
      out.slots[used++] = slot;
      out.pattern += "{}";
    } else {
      out.pattern += segment;
    }
    start = end + 1;
  }
  return out;
}

}  // namespace

Matcher::Matcher(const TensorTable& table) : table_(table) {
  for (size_t r = 0; r < table.rows.size(); ++r) {
    const ModuleRow& row = table.rows[r];
    std::vector<bool> member;
    if (!row.layers.empty()) {
      member.resize(static_cast<size_t>(row.layers.layers().back()) + 1);
      for (const int64_t layer : row.layers.layers()) member[static_cast<size_t>(layer)] = true;
    }
    members_.push_back(std::move(member));
    tensors_.push_back(StoredTensors(row));
    for (size_t t = 0; t < tensors_[r].size(); ++t) {
      PatternSlots slots = SlotsOf(row.name + tensors_[r][t].suffix);
      by_pattern_[slots.pattern].push_back(candidates_.size());
      candidates_.push_back({r, t, slots.slots, row.Count(), 0, 0, {}});
    }
  }
}

const RowCandidate* Matcher::Find(const std::vector<size_t>& ids,
                                  const NameIndices& indices) const {
  for (const size_t id : ids) {
    if (Fits(candidates_[id], indices)) return &candidates_[id];
  }
  return nullptr;
}

RowCandidate* Matcher::Find(const std::vector<size_t>& ids, const NameIndices& indices) {
  for (const size_t id : ids) {
    if (Fits(candidates_[id], indices)) return &candidates_[id];
  }
  return nullptr;
}

const std::vector<size_t>& Matcher::ForPattern(const std::string& pattern) const {
  static const std::vector<size_t> none;
  if (const auto it = by_pattern_.find(pattern); it != by_pattern_.end()) return it->second;
  for (const NameAlias& alias : table_.aliases) {
    if (!pattern.starts_with(alias.stored)) continue;
    const auto it = by_pattern_.find(alias.name + pattern.substr(alias.stored.size()));
    if (it != by_pattern_.end()) return it->second;
  }
  return none;
}

int64_t Matcher::LayerOf(const RowCandidate& candidate, const NameIndices& indices) const {
  for (size_t i = 0; i < indices.size(); ++i) {
    if (candidate.slots[i].kind == SlotKind::kLayer) return indices[i];
  }
  return -1;
}

bool Matcher::Fits(const RowCandidate& candidate, const NameIndices& indices) const {
  const ModuleRow& row = table_.rows[candidate.row];
  for (size_t i = 0; i < indices.size(); ++i) {
    const int32_t index = indices[i];
    switch (candidate.slots[i].kind) {
      case SlotKind::kNone:
        if (index != -1) return false;
        break;
      case SlotKind::kLayer: {
        const std::vector<bool>& member = members_[candidate.row];
        if (index < 0 || static_cast<size_t>(index) >= member.size()) return false;
        if (!member[static_cast<size_t>(index)]) return false;
        break;
      }
      case SlotKind::kExpert:
        if (index < 0 || index >= row.experts) return false;
        break;
      case SlotKind::kBlock:
        if (index < 0 || index >= row.blocks) return false;
        break;
      case SlotKind::kFixed:
        if (index != candidate.slots[i].value) return false;
        break;
    }
  }
  return true;
}

}  // namespace shardplan
