// Runs the built program as a person would: through a shell.
#ifndef SHARDPLAN_TESTS_CLI_RUN_PROGRAM_H_
#define SHARDPLAN_TESTS_CLI_RUN_PROGRAM_H_

#include <sys/wait.h>

#include <cstdlib>
#include <string>

#include "support/temp_dir.h"

namespace shardplan::testing_support {

struct Outcome {
  int code = -1;
  std::string out;
  std::string err;
};

// Runs a bash script in `directory`, where the word `shardplan` means the program under test and
// standard output and error are files. The environment has no NO_COLOR.
inline Outcome RunScript(const std::string& script, const std::string& directory = "/") {
  const TempDir scratch;
  const std::string file = scratch.Write(
      "script", "unset NO_COLOR\nshardplan() { \"" SHARDPLAN_BINARY "\" \"$@\"; }\ncd '" +
                    directory + "' || exit 99\n" + script + "\n");
  const std::string command = "bash '" + file + "' >'" + scratch.Path("out") + "' 2>'" +
                              scratch.Path("err") + "' </dev/null";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, ReadText(scratch.Path("out")),
          ReadText(scratch.Path("err"))};
}

// Where the small configs of these tests are.
inline std::string CliData() { return SHARDPLAN_TEST_DATA "/cli"; }

// `arguments` behind the program's name, run among the small configs.
inline Outcome RunProgram(const std::string& arguments) {
  return RunScript("shardplan " + arguments, CliData());
}

}  // namespace shardplan::testing_support

#endif  // SHARDPLAN_TESTS_CLI_RUN_PROGRAM_H_
