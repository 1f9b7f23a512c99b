// Feeds bytes to the readers of commands: the shell's words, vLLM's flags, objects and YAML.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "engine/vllm/command.h"
#include "launch/serve_command.h"
#include "shardplan/launch/shell.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

void RequireOneLine(const shardplan::Error& error) {
  Require(error.code == shardplan::ErrorCode::kUsage);
  Require(error.ToString().find('\n') == std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace shardplan;
  static const vllm::FlagTable table = *vllm::FlagTable::Load(ConfigStore::BuiltIn());
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto lines = vllm::WordsOfYaml(std::string(text)); !lines) {
    RequireOneLine(lines.error());
  }
  const Result<ServeCommand> serve = FindServeCommand(text);
  if (!serve) {
    RequireOneLine(serve.error());
    return 0;
  }
  std::vector<vllm::CommandWord> words;
  for (const ShellWord& word : serve->words) {
    Require(word.text.find('\0') == std::string::npos);
    words.push_back({word.text, word.expands});
    // A word quoted is read as itself.
    const auto again = SplitShell(ShellQuote(word.text));
    Require(again.has_value() && again->size() == 1 && (*again)[0].size() == 1);
    Require((*again)[0][0].text == word.text);
  }
  const Result<vllm::ParsedCommand> command = vllm::ParseArguments(table, words);
  if (!command) {
    RequireOneLine(command.error());
    return 0;
  }
  // The flags written out are the same flags.
  std::vector<vllm::CommandWord> written;
  for (const vllm::ParsedFlag& flag : command->flags) {
    for (std::string& word : flag.Words()) written.push_back({std::move(word), flag.expands});
  }
  const Result<vllm::ParsedCommand> again = vllm::ParseArguments(table, written);
  if (!again) return 0;  // a value that looks like a flag
  for (const vllm::ParsedFlag& flag : again->flags) {
    Require(command->Find(flag.row->name) != nullptr);
  }
  return 0;
}
