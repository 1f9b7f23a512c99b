// Values that an engine's parser takes, of flags whose numbers or choices are known.
#ifndef SHARDPLAN_ENGINE_FLAG_VALUES_H_
#define SHARDPLAN_ENGINE_FLAG_VALUES_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/choice_table.h"
#include "shardplan/base/finding.h"
#include "shardplan/base/result.h"

namespace shardplan {

// A flag of a command, in its long form, with its one value.
struct FlagValue {
  std::string_view flag;
  std::string value;
  bool plugin = false;  // the command names a plugin that may register the value
};

// Whether the engine of `choices` takes the value at a version (empty: the newest). Flags that are
// not listed take anything here, and so do those whose choices plugins or classes extend; what
// another version takes is CheckValueVersion's. Fails with kUsage: the flag and its value, what was
// expected, and the nearest choice.
Status CheckFlagValue(const ChoiceTable& choices, std::string_view version, const FlagValue& given);

// The same of flags whose choices plugins, classes or every release extend: command.plugin_value, a
// warning for a value that is none of the built-in ones of any release known, and no class by its
// path; of a parser, for one that is like none of them (a misspelling is CheckFlagValue's).
std::optional<Finding> CheckOpenValue(const ChoiceTable& choices, std::string_view version,
                                      const FlagValue& given);

// A value that versions take, and this one is known not to: command.value_too_new,
// command.value_removed (warnings, with what it takes). `version` as the engine is named in text:
// "SGLang 0.5.2".
std::optional<Finding> CheckValueVersion(const ChoiceTable& choices, std::string_view name,
                                         std::string_view version, const FlagValue& given);

// The flags whose numbers are listed, in order.
std::vector<std::string> NumberFlags(std::string_view engine);

}  // namespace shardplan

#endif  // SHARDPLAN_ENGINE_FLAG_VALUES_H_
