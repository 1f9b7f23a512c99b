#include "engine/visible_cards.h"

#include <algorithm>

namespace shardplan {

std::optional<std::string> VisibleDevices(const EngineSettings& settings) {
  for (const auto& [name, value] : settings.env) {
    if (name == "CUDA_VISIBLE_DEVICES") return value;
  }
  return std::nullopt;
}

std::vector<std::string> ShownCards(std::string_view value) {
  std::vector<std::string> cards;
  for (size_t begin = 0; begin <= value.size();) {
    const size_t end = std::min(value.find(',', begin), value.size());
    const std::string_view card = value.substr(begin, end - begin);
    if (card.empty() || card.starts_with('-')) break;
    cards.emplace_back(card);
    begin = end + 1;
  }
  return cards;
}

}  // namespace shardplan
