#include "checkpoint/interner.h"

#include <iterator>

namespace shardplan {

uint32_t Interner::Intern(std::string_view text) {
  if (!strings_.empty()) {
    const uint32_t guess = successor_[last_];
    if (strings_[guess] == text) return last_ = guess;
  }
  uint32_t id;
  if (const auto found = ids_.find(text); found != ids_.end()) {
    id = found->second;
  } else {
    id = static_cast<uint32_t>(strings_.size());
    strings_.emplace_back(text);
    successor_.push_back(id);
    ids_.emplace(strings_.back(), id);
  }
  successor_[last_] = id;
  return last_ = id;
}

std::vector<std::string> Interner::Take() {
  std::vector<std::string> out(std::make_move_iterator(strings_.begin()),
                               std::make_move_iterator(strings_.end()));
  ids_.clear();
  strings_.clear();
  successor_.clear();
  last_ = 0;
  return out;
}

}  // namespace shardplan
