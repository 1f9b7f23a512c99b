// Diagnostics for -v.
#ifndef SHARDPLAN_CLI_LOG_H_
#define SHARDPLAN_CLI_LOG_H_

#include <string>

namespace shardplan::cli {

// From here on, Log() writes to stderr.
void EnableLog();

// A diagnostic with the time of day; dropped without -v.
void Log(const std::string& message);

}  // namespace shardplan::cli

#endif  // SHARDPLAN_CLI_LOG_H_
