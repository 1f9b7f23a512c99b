// Names in, pattern numbers and indices out.
#ifndef SHARDPLAN_CHECKPOINT_PATTERN_INTERNER_H_
#define SHARDPLAN_CHECKPOINT_PATTERN_INTERNER_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "shardplan/checkpoint/tensor_name.h"

namespace shardplan {

// Splits names as SplitTensorName does and numbers the patterns in order of first appearance.
//
// Names come in cycles (w1, w2, w3, w1 …), so the pattern that followed the last one before is held
// against the name first: half a million names then cost a comparison each instead of a split, a
// hash and a comparison.
class PatternInterner {
 public:
  uint32_t Intern(std::string_view name, NameIndices* indices);

  const std::string& operator[](uint32_t pattern) const { return patterns_[pattern].text; }

  // The patterns by number; leaves the interner empty.
  std::vector<std::string> Take();

 private:
  struct Pattern {
    std::string text;
    std::array<size_t, 3> places = {};  // where its placeholders stand
    size_t indices = 0;
    bool escaped = false;  // holds a "{{}}", which Matches does not bother with
    uint32_t successor = 0;
  };

  static bool Matches(const Pattern& pattern, std::string_view name, NameIndices* indices);
  uint32_t Find(const std::string& text, const NameIndices& indices);

  std::vector<Pattern> patterns_;
  std::unordered_map<std::string, uint32_t> numbers_;
  uint32_t last_ = 0;
  std::string buffer_;
};

}  // namespace shardplan

#endif  // SHARDPLAN_CHECKPOINT_PATTERN_INTERNER_H_
