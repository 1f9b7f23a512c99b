// The arguments of an engine's server, read as its parser reads them.
#ifndef SHARDPLAN_ENGINE_COMMAND_H_
#define SHARDPLAN_ENGINE_COMMAND_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/flag_table.h"
#include "engine/json_fields.h"
#include "shardplan/base/result.h"

namespace shardplan {

// A word of the command line.
struct CommandWord {
  std::string text;
  bool expands = false;  // a shell would replace a part of it: its value is not known
};

// A flag with its values, in its long form.
struct ParsedFlag {
  const FlagRow* row = nullptr;     // of the table that read it
  bool on = true;                   // a switch's state
  std::vector<std::string> values;  // of an object: its JSON, one text
  std::vector<JsonField> fields;    // of an object: what is in it
  bool expands = false;             // one of its values is not known
  std::string written;              // "--kv-cache-memory", where it was abbreviated; else empty

  // The flag with its values as words, and those in one text.
  std::vector<std::string> Words() const;
  std::string ValueText() const;
};

struct ParsedCommand {
  std::optional<CommandWord> model;
  std::optional<CommandWord> config;  // the file of --config, not read
  std::vector<ParsedFlag> flags;      // in order, each once: the last one counts
  std::vector<std::string> repeated;  // flags that were given again, with other values

  const ParsedFlag* Find(std::string_view name) const;
};

// One thing that an engine's parser, or ours, cannot take.
struct CommandProblem {
  // "command.flag_unknown", "command.flag_never" (people write it, no version has it),
  // "command.ambiguous", "command.value", "command.word" (belongs to no flag),
  // "command.shell_variable" (only a shell knows it).
  std::string id;
  Error error;
};

// Reads the words behind the program that serves: `--flag value` and `--flag=value`, abbreviations,
// lists, the switches' --no-…, and what the table's engine has: short flags, -O3, underscores for
// dashes, objects as JSON or by fields (`-cc.mode 3`). An abbreviation is one at `version` (empty:
// the newest). Sources: vllm/utils/argparse_utils.py (00da11e3); python/sglang/srt/server_args.py
// (0bda0b168) on Python's argparse. Fails with kUsage for a flag that the table does not know
// (close ones are told), an ambiguous abbreviation, a missing value and words that belong to
// nothing. With `problems` it does not fail: those are told there, and what they are about is left
// out.
Result<ParsedCommand> ParseArguments(const FlagTable& table, const std::vector<CommandWord>& words,
                                     std::string_view version = {},
                                     std::vector<CommandProblem>* problems = nullptr);

// `more` on top of `base`: its flags win.
ParsedCommand Overridden(ParsedCommand base, ParsedCommand more);

// The row that tells of a field: "--compilation-config.pass_config.x", or of what it lies in.
const FlagRow& RowOfField(const FlagTable& table, const FlagRow& flag, const std::string& path);

}  // namespace shardplan

#endif  // SHARDPLAN_ENGINE_COMMAND_H_
