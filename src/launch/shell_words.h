// A command line taken apart as a shell would, without running anything.
#ifndef SHARDPLAN_LAUNCH_SHELL_WORDS_H_
#define SHARDPLAN_LAUNCH_SHELL_WORDS_H_

#include <string>
#include <string_view>
#include <vector>

#include "shardplan/base/result.h"

namespace shardplan {

// A word with its quotes removed.
struct ShellWord {
  std::string text;
  bool expands =
      false;  // holds a $NAME, ${…} or ~ that a shell would replace; it stands as written
};

// Splits a script of simple commands: quotes ('…', "…", $'…'), backslashes and the newlines they
// continue, comments, and commands separated by newlines, ";", "&" and "&&". Empty ones are
// dropped, and so is where output goes: redirections of it, and pipes into programs that only read
// (`| tee log`). Fails with kUsage for what only a running shell can know or do: other pipes, input
// from files, subshells, command substitutions; and for an open quote, a zero byte or more than 1
// MiB.
Result<std::vector<std::vector<ShellWord>>> SplitShell(std::string_view text);

}  // namespace shardplan

#endif  // SHARDPLAN_LAUNCH_SHELL_WORDS_H_
