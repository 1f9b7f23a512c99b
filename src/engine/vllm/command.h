// The arguments of `vllm serve`, read as vLLM's parser reads them.
#ifndef SHARDPLAN_ENGINE_VLLM_COMMAND_H_
#define SHARDPLAN_ENGINE_VLLM_COMMAND_H_

#include <optional>
#include <string>
#include <vector>

#include "engine/vllm/flag_table.h"
#include "engine/vllm/json_fields.h"
#include "shardplan/base/result.h"

namespace shardplan::vllm {

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

  const ParsedFlag* Find(std::string_view name) const;
};

// Reads the words behind `vllm serve`: `--flag value` and `--flag=value`, underscores for dashes,
// --no-…, short flags, -O3, abbreviations, lists, objects as JSON or by fields (`-cc.mode 3`).
// Source: vllm/utils/argparse_utils.py (00da11e3). Fails with kUsage for a flag that the table does
// not know (close ones are told), a missing value and words that belong to nothing.
Result<ParsedCommand> ParseArguments(const FlagTable& table, const std::vector<CommandWord>& words);

// `more` on top of `base`: its flags win.
ParsedCommand Overridden(ParsedCommand base, ParsedCommand more);

// The row that tells of a field: "--compilation-config.pass_config.x", or of what it lies in.
const FlagRow& RowOfField(const FlagTable& table, const FlagRow& flag, const std::string& path);

}  // namespace shardplan::vllm

#endif  // SHARDPLAN_ENGINE_VLLM_COMMAND_H_
