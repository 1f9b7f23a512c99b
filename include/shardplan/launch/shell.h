// Commands as text that a shell reads back, word for word.
#ifndef SHARDPLAN_LAUNCH_SHELL_H_
#define SHARDPLAN_LAUNCH_SHELL_H_

#include <string>
#include <string_view>

#include "shardplan/plan/plan.h"

namespace shardplan {

// `word` as one argument of a bash command line. Plain words (letters, digits and "@%+=:,./_-")
// stay bare; everything else is single-quoted, a quote inside as '\''. Words that a terminal must
// not see raw (control characters, bytes that are not UTF-8, marks that turn the writing direction)
// become $'…' with escapes, so that the text can be shown and pasted and still means the same
// bytes. A zero byte ends a word in every shell and cannot be expressed.
std::string ShellQuote(std::string_view word);

// A node's environment and arguments as one command, ready to paste: assignments first, then the
// program, then one flag with its values a line, joined by backslashes; no newline at the end.
//
// Placeholders such as <MASTER_ADDR> are quoted like everything else, so that a command that is
// pasted without filling them in fails on the name instead of redirecting a file. Names in `env`
// must be identifiers.
std::string RenderCommand(const LaunchPlan& launch);

}  // namespace shardplan

#endif  // SHARDPLAN_LAUNCH_SHELL_H_
