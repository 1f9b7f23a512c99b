// Equal texts, kept once.
#ifndef SHARDPLAN_CHECKPOINT_INTERNER_H_
#define SHARDPLAN_CHECKPOINT_INTERNER_H_

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace shardplan {

// Gives equal byte strings equal numbers, counted from zero in order of first appearance.
class Interner {
 public:
  uint32_t Intern(std::string_view text);

  size_t size() const { return strings_.size(); }
  const std::string& operator[](uint32_t id) const { return strings_[id]; }

  // The strings by number; leaves the interner empty.
  std::vector<std::string> Take();

 private:
  std::deque<std::string> strings_;  // a deque, so that the map's views stay valid
  std::unordered_map<std::string_view, uint32_t> ids_;
  // Shapes and files come in cycles: what followed the last text before is tried first, which saves
  // most of the hashing.
  std::vector<uint32_t> successor_;
  uint32_t last_ = 0;
};

}  // namespace shardplan

#endif  // SHARDPLAN_CHECKPOINT_INTERNER_H_
