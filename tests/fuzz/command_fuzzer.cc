// Feeds bytes to the readers of commands: the shell's words, the flags of both engines, objects
// and YAML.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "engine/command.h"
#include "launch/serve_command.h"
#include "shardplan/launch/shell.h"

namespace {

using namespace shardplan;

void Require(bool condition) {
  if (!condition) std::abort();
}

void RequireOneLine(const Error& error) {
  Require(error.code == ErrorCode::kUsage);
  Require(error.ToString().find('\n') == std::string::npos);
}

void ReadFlags(const FlagTable& table, const std::vector<CommandWord>& words) {
  const Result<ParsedCommand> command = ParseArguments(table, words);
  if (!command) {
    RequireOneLine(command.error());
    return;
  }
  // The flags written out are the same flags.
  std::vector<CommandWord> written;
  for (const ParsedFlag& flag : command->flags) {
    for (std::string& word : flag.Words()) written.push_back({std::move(word), flag.expands});
  }
  const Result<ParsedCommand> again = ParseArguments(table, written);
  if (!again) return;  // a value that looks like a flag
  for (const ParsedFlag& flag : again->flags) {
    Require(command->Find(flag.row->name) != nullptr);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto lines = WordsOfYaml(std::string(text)); !lines) RequireOneLine(lines.error());
  const Result<ServeCommand> serve = FindServeCommand(text);
  if (!serve) {
    RequireOneLine(serve.error());
    return 0;
  }
  std::vector<CommandWord> words;
  for (const ShellWord& word : serve->words) {
    Require(word.text.find('\0') == std::string::npos);
    words.push_back({word.text, word.expands});
    // A word quoted is read as itself.
    const auto again = SplitShell(ShellQuote(word.text));
    Require(again.has_value() && again->size() == 1 && (*again)[0].size() == 1);
    Require((*again)[0][0].text == word.text);
  }
  Require(serve->engine == "vllm" || serve->engine == "sglang");
  // Whichever engine it starts, both readers get it.
  static const FlagTable vllm = *FlagTable::Load(ConfigStore::BuiltIn(), "vllm");
  static const FlagTable sglang = *FlagTable::Load(ConfigStore::BuiltIn(), "sglang");
  ReadFlags(vllm, words);
  ReadFlags(sglang, words);
  return 0;
}
