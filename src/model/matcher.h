// Finds the row of a family's table that a stored tensor belongs to.
#ifndef SHARDPLAN_MODEL_MATCHER_H_
#define SHARDPLAN_MODEL_MATCHER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "shardplan/checkpoint/dtype.h"
#include "shardplan/checkpoint/tensor_name.h"
#include "shardplan/model/tensor_table.h"

namespace shardplan {

// What an index of a name stands for.
enum class SlotKind : uint8_t { kNone, kLayer, kExpert, kBlock, kFixed };

struct Slot {
  SlotKind kind = SlotKind::kNone;
  int32_t value = -1;  // of a fixed number
};

// One stored tensor of one row, and how many of its instances were seen.
struct RowCandidate {
  size_t row = 0;
  size_t tensor = 0;
  std::array<Slot, 3> slots;
  int64_t expected = 0;
  int64_t seen = 0;
  int64_t other_dtype = 0;
  std::array<int64_t, static_cast<size_t>(DType::kU64) + 1> by_dtype = {};  // as the file has it
};

// Every stored tensor of every row, by the pattern of its name. The table has to outlive it.
class Matcher {
 public:
  explicit Matcher(const TensorTable& table);

  // Those whose names have this pattern; aliases of the table count.
  const std::vector<size_t>& ForPattern(const std::string& pattern) const;

  // The one among `ids` whose numbers these are, or null.
  const RowCandidate* Find(const std::vector<size_t>& ids, const NameIndices& indices) const;
  RowCandidate* Find(const std::vector<size_t>& ids, const NameIndices& indices);

  // The layer that a name of this candidate has; -1 where the row has none.
  int64_t LayerOf(const RowCandidate& candidate, const NameIndices& indices) const;

  const StoredTensor& TensorOf(const RowCandidate& c) const { return tensors_[c.row][c.tensor]; }
  const ModuleRow& RowOf(const RowCandidate& c) const { return table_.rows[c.row]; }
  const std::vector<RowCandidate>& candidates() const { return candidates_; }

 private:
  bool Fits(const RowCandidate& candidate, const NameIndices& indices) const;

  const TensorTable& table_;
  std::vector<std::vector<bool>> members_;
  std::vector<std::vector<StoredTensor>> tensors_;
  std::vector<RowCandidate> candidates_;
  std::unordered_map<std::string, std::vector<size_t>> by_pattern_;
};

}  // namespace shardplan

#endif  // SHARDPLAN_MODEL_MATCHER_H_
