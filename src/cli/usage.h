// Mistakes on the command line, in our own words.
#ifndef SHARDPLAN_CLI_USAGE_H_
#define SHARDPLAN_CLI_USAGE_H_

#include <string>
#include <string_view>
#include <vector>

#include "shardplan/base/result.h"

namespace CLI {
class App;
}  // namespace CLI

namespace shardplan::cli {

// Refuses "--name=" before CLI11 gives the option the next word instead.
Status CheckArguments(const std::vector<std::string>& arguments);

// Refuses words and options that `app` (which allows extras) does not know, and says which it may
// have meant.
Status CheckExtras(const CLI::App& app);

// A group of commands, "launch", without one of them.
Error MissingCommand(const CLI::App& group);

// What CLI11 says about a value that is missing or too much, as one of our errors.
Error UsageError(std::string_view message);

}  // namespace shardplan::cli

#endif  // SHARDPLAN_CLI_USAGE_H_
