// Values that an engine's parser takes, of flags whose numbers or choices are known.
#ifndef SHARDPLAN_ENGINE_FLAG_VALUES_H_
#define SHARDPLAN_ENGINE_FLAG_VALUES_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shardplan/base/finding.h"
#include "shardplan/base/result.h"

namespace shardplan {

// Whether `engine` ("vllm", "sglang") takes this text behind a flag, which is named in its long
// form. Flags that are not listed take anything here, and so do those whose choices plugins or
// classes extend. Choices are those of the newest release known. Fails with kUsage: the flag and
// its value, what was expected, and the nearest choice.
Status CheckFlagValue(std::string_view engine, std::string_view flag, const std::string& value);

// The same of flags whose choices plugins or classes extend: a warning for a value that is none of
// the built-in ones of any release known, and no class by its path.
std::optional<Finding> CheckOpenValue(std::string_view engine, std::string_view flag,
                                      const std::string& value);

// The flags that are listed, in order.
std::vector<std::string> CheckedFlags(std::string_view engine);
std::vector<std::string> OpenFlags(std::string_view engine);

}  // namespace shardplan

#endif  // SHARDPLAN_ENGINE_FLAG_VALUES_H_
