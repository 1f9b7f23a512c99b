// Finds tensors by name without building the names.
#ifndef SHARDPLAN_CHECKPOINT_NAME_TABLE_H_
#define SHARDPLAN_CHECKPOINT_NAME_TABLE_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shardplan/checkpoint/tensor_name.h"

namespace shardplan {

// A hash table from (pattern, indices) to a position in a list of records that the caller keeps.
// Pattern and indices decide: the hash only says where to look. Open addressing, half full at most,
// eight bytes a slot; the tag spares most visits to the records.
class NameTable {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  // Room for `names` names; more must not be inserted.
  explicit NameTable(size_t names) : slots_(std::bit_ceil(names * 2 + 16)) {}

  // How far ahead of its use a name's slot is worth fetching, for loops over many names.
  static constexpr size_t kAhead = 12;
  void Prefetch(uint32_t pattern, const NameIndices& indices) const {
    __builtin_prefetch(&slots_[Hash(pattern, indices) & Mask()]);
  }

  // The position of the record with this name, or kNone.
  template <typename Record>
  uint32_t Find(std::span<const Record> records, uint32_t pattern,
                const NameIndices& indices) const {
    const uint64_t hash = Hash(pattern, indices);
    const auto tag = static_cast<uint32_t>(hash >> 32);
    for (size_t at = hash & Mask(); slots_[at].used != 0; at = (at + 1) & Mask()) {
      if (slots_[at].tag != tag) continue;
      const Record& record = records[slots_[at].used - 1];
      if (record.pattern == pattern && record.indices == indices) return slots_[at].used - 1;
    }
    return kNone;
  }

  // Enters records[position]; made to be called for one position after the other. Returns kNone, or
  // the position of an earlier record with the same name, which then stays.
  template <typename Record>
  uint32_t Insert(std::span<const Record> records, uint32_t position) {
    if (const size_t ahead = position + kAhead; ahead < records.size()) {
      Prefetch(records[ahead].pattern, records[ahead].indices);
    }
    const Record& mine = records[position];
    const uint64_t hash = Hash(mine.pattern, mine.indices);
    const auto tag = static_cast<uint32_t>(hash >> 32);
    size_t at = hash & Mask();
    for (; slots_[at].used != 0; at = (at + 1) & Mask()) {
      if (slots_[at].tag != tag) continue;
      const Record& record = records[slots_[at].used - 1];
      if (record.pattern == mine.pattern && record.indices == mine.indices) {
        return slots_[at].used - 1;
      }
    }
    slots_[at] = {tag, position + 1};
    return kNone;
  }

 private:
  struct Slot {
    uint32_t tag = 0;
    uint32_t used = 0;  // position + 1; zero for an empty slot
  };

  size_t Mask() const { return slots_.size() - 1; }

  static uint64_t Mix(uint64_t value) {  // the finalizer of SplitMix64
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31);
  }

  static uint64_t Hash(uint32_t pattern, const NameIndices& indices) {
    auto unsigned_index = [&](size_t i) {
      return static_cast<uint64_t>(static_cast<uint32_t>(indices[i]));
    };
    const uint64_t low = Mix((uint64_t{pattern} << 32) | unsigned_index(0));
    return Mix(low + ((unsigned_index(1) << 32) | unsigned_index(2)) * 0x9e3779b97f4a7c15U);
  }

  std::vector<Slot> slots_;
};

}  // namespace shardplan

#endif  // SHARDPLAN_CHECKPOINT_NAME_TABLE_H_
