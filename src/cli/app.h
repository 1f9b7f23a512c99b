// The command line: parse, run, print.
#ifndef SHARDPLAN_CLI_APP_H_
#define SHARDPLAN_CLI_APP_H_

namespace shardplan::cli {

// Runs one command and returns the exit code (exit_code.h). The answer goes to standard output or
// to the file of -o, everything else to stderr. Throws what the library throws: SizeOverflow and
// what the standard library does.
int RunApp(int argc, const char* const* argv);

}  // namespace shardplan::cli

#endif  // SHARDPLAN_CLI_APP_H_
