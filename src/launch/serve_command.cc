#include "launch/serve_command.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "shardplan/base/file.h"

namespace shardplan {
namespace {

tl::unexpected<Error> Refuse(std::string message, std::string hint = "") {
  return Fail(ErrorCode::kUsage, "command", std::move(message), std::move(hint));
}

bool IsNameStart(char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsNamePart(char c) { return IsNameStart(c) || (c >= '0' && c <= '9'); }

// "NAME=value" as a name and a value.
std::optional<std::pair<std::string, ShellWord>> Assignment(const ShellWord& word) {
  const size_t equals = word.text.find('=');
  if (equals == std::string::npos || equals == 0 || !IsNameStart(word.text[0])) return std::nullopt;
  const std::string name = word.text.substr(0, equals);
  if (!std::all_of(name.begin(), name.end(), IsNamePart)) return std::nullopt;
  return std::pair(name, ShellWord{word.text.substr(equals + 1), word.expands});
}

using Words = std::vector<ShellWord>;

bool IsImage(const std::string& word) {
  const std::string name = BaseName(word.substr(0, word.find('@')));
  return name == "vllm-openai" || name.starts_with("vllm-openai:") ||
         name.starts_with("vllm-openai-");
}

// Where MODEL and flags begin; nothing where these words start no server.
std::optional<size_t> FindServe(const Words& words) {
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string& word = words[i].text;
    const std::string& next = words[i + 1].text;
    if (BaseName(word) == "vllm" && next == "serve") return i + 2;
    if (word == "vllm.entrypoints.cli.main" && next == "serve") return i + 2;
    if (word == "-m" && next == "vllm.entrypoints.openai.api_server") return i + 2;
  }
  for (size_t i = 0; i < words.size(); ++i) {
    if (IsImage(words[i].text)) return i + 1;
  }
  return std::nullopt;
}

// "bash -c 'script'": where the script is.
std::optional<size_t> InnerScript(const Words& words) {
  for (size_t i = 0; i + 2 < words.size(); ++i) {
    const std::string shell = BaseName(words[i].text);
    if (shell != "bash" && shell != "sh") continue;
    const std::string& flags = words[i + 1].text;
    const bool runs = flags.size() > 1 && flags[0] == '-' && flags.ends_with('c');
    if (runs && !words[i + 2].expands) return i + 2;
  }
  return std::nullopt;
}

// Words behind which assignments are still assignments.
bool PassesEnvironment(const std::string& word) {
  static constexpr std::array<std::string_view, 7> kNames = {"$",    "env",   "exec", "export",
                                                             "sudo", "nohup", "time"};
  return std::find(kNames.begin(), kNames.end(), BaseName(word)) != kNames.end();
}

// Assignments, and what export, env and docker's -e set, among the words before the program.
void TakeEnvironment(const Words& words, size_t end, ServeCommand* out) {
  const auto take = [&](const ShellWord& word) {
    auto found = Assignment(word);
    if (found) out->env.push_back(std::move(*found));
    return found.has_value();
  };
  bool assigns = true;
  for (size_t i = 0; i < end; ++i) {
    const std::string& text = words[i].text;
    if ((text == "-e" || text == "--env") && i + 1 < end) {
      take(words[++i]);
    } else if (text.starts_with("--env=") || (text.starts_with("-e") && text.size() > 2)) {
      take({text.substr(text[1] == 'e' ? 2 : 6), words[i].expands});
    } else if (text == "-u") {
      ++i;
    } else if (!text.starts_with('-')) {
      assigns = PassesEnvironment(text) || (assigns && take(words[i]));
    }
  }
}

bool OnlySets(const Words& words) {
  return std::all_of(words.begin(), words.end(), [&](const ShellWord& word) {
    return &word == &words.front() ? word.text == "export" || Assignment(word).has_value()
                                   : Assignment(word).has_value();
  });
}

// Words that do nothing for the one that serves: a shell's options and its directory.
bool IsHarmless(const Words& words) {
  static constexpr std::array<std::string_view, 6> kNames = {"set",    "cd",    "ulimit",
                                                             "source", "conda", "."};
  return std::find(kNames.begin(), kNames.end(), words.front().text) != kNames.end();
}

Status Find(std::string_view text, int depth, ServeCommand* out, bool* found) {
  SHARDPLAN_ASSIGN_OR_RETURN(const std::vector<Words> commands, SplitShell(text));
  for (const Words& words : commands) {
    if (OnlySets(words)) {
      TakeEnvironment(words, words.size(), out);
      continue;
    }
    if (const auto begin = FindServe(words)) {
      if (*found) return Refuse("expected one command that serves, found two");
      TakeEnvironment(words, *begin, out);
      out->words.assign(words.begin() + static_cast<std::ptrdiff_t>(*begin), words.end());
      *found = true;
    } else if (const auto inner = InnerScript(words); inner && depth == 0) {
      TakeEnvironment(words, *inner, out);
      SHARDPLAN_RETURN_IF_ERROR(Find(words[*inner].text, depth + 1, out, found));
    } else if (!IsHarmless(words)) {
      return Refuse("expected `vllm serve`, found " + Printable(words.front().text, 60),
                    "give the command that serves, and assignments before it");
    }
  }
  return {};
}

}  // namespace

Result<ServeCommand> FindServeCommand(std::string_view text) {
  ServeCommand command;
  bool found = false;
  SHARDPLAN_RETURN_IF_ERROR(Find(text, 0, &command, &found));
  if (!found) {
    return Refuse("expected `vllm serve MODEL …`, found no such command",
                  "`python -m vllm.entrypoints.openai.api_server` and images named vllm-openai are "
                  "understood as well");
  }
  return command;
}

}  // namespace shardplan
