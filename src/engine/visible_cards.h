// The cards that CUDA_VISIBLE_DEVICES leaves to an engine.
#ifndef SHARDPLAN_ENGINE_VISIBLE_CARDS_H_
#define SHARDPLAN_ENGINE_VISIBLE_CARDS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shardplan/engine/settings.h"

namespace shardplan {

// The variable's value, of those that go into the launch commands; nothing where it is not set.
std::optional<std::string> VisibleDevices(const EngineSettings& settings);

// The cards that a value shows, as it names them: those in front of the first entry that is none,
// such as -1, and none of an empty text.
// Source: CUDA C++ Programming Guide 12.9, "CUDA Environment Variables".
std::vector<std::string> ShownCards(std::string_view value);

}  // namespace shardplan

#endif  // SHARDPLAN_ENGINE_VISIBLE_CARDS_H_
