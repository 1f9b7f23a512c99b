#include "launch/serve_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

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

// Two words behind which MODEL and flags begin.
struct Starter {
  std::string_view engine;
  std::string_view first;  // its last part, where it is a path
  std::string_view second;
  bool model_first = false;
};
constexpr std::array<Starter, 6> kStarters = {{{"vllm", "vllm", "serve"},
                                               {"vllm", "vllm.entrypoints.cli.main", "serve"},
                                               {"vllm", "-m", "vllm.entrypoints.openai.api_server"},
                                               {"sglang", "sglang", "serve", true},
                                               {"sglang", "sglang.cli.main", "serve", true},
                                               {"sglang", "-m", "sglang.launch_server"}}};

// Images that engines publish, by the last part of their names.
struct Image {
  std::string_view engine;
  std::string_view name;
  bool serves = false;  // the words behind it are the arguments of the server
};
constexpr std::array<Image, 2> kImages = {{{"vllm", "vllm-openai", true}, {"sglang", "sglang"}}};

struct NamedImage {
  const Image* image = nullptr;
  std::string name;  // "vllm-openai", "vllm-openai-rocm"
  std::string tag;
};

// "docker.io/vllm/vllm-openai:v0.11.0@sha256:…"
std::optional<NamedImage> ImageOf(const std::string& word) {
  const std::string reference = word.substr(0, word.find('@'));
  const std::string base = BaseName(reference);
  const size_t colon = std::min(base.find(':'), base.size());
  const std::string name = base.substr(0, colon);
  const bool has_owner = base.size() < reference.size() && IsNameStart(reference[0]);
  for (const Image& image : kImages) {
    const bool is_variant =
        name.starts_with(image.name) && name.substr(image.name.size()).starts_with('-');
    // Where the program has the image's name, an owner tells them apart.
    if (image.serves ? name == image.name || is_variant : name == image.name && has_owner) {
      return NamedImage{&image, name, colon < base.size() ? base.substr(colon + 1) : ""};
    }
  }
  return std::nullopt;
}

// What `docker run --entrypoint PROGRAM` runs in place of the image's own program.
std::optional<std::string> EntrypointOf(const Words& words) {
  constexpr std::string_view kFlag = "--entrypoint";
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& text = words[i].text;
    if (text == kFlag && i + 1 < words.size()) return BaseName(words[i + 1].text);
    if (text.starts_with(std::string(kFlag) + "=")) return BaseName(text.substr(kFlag.size() + 1));
  }
  return std::nullopt;
}

// Whether the word before this one is an option that may want it for its value.
bool IsBehindOption(const Words& words, size_t i) {
  const std::string& before = words[i - 1].text;
  return before.starts_with('-') && before.find('=') == std::string::npos;
}

// `--entrypoint vllm IMAGE serve MODEL …`: the image stands between the two words.
std::optional<size_t> FindBehindImage(const Words& words, const std::string& program,
                                      ServeCommand* out) {
  for (size_t i = 1; i < words.size(); ++i) {
    for (const Starter& starter : kStarters) {
      if (program != starter.first || words[i].text != starter.second) continue;
      if (IsBehindOption(words, i)) continue;
      out->engine = starter.engine;
      out->model_first = starter.model_first;
      return i + 1;
    }
  }
  return std::nullopt;
}

// Where MODEL and flags begin, and of which engine; nothing where these words start no server.
std::optional<size_t> FindServe(const Words& words, ServeCommand* out) {
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    for (const Starter& starter : kStarters) {
      if (BaseName(words[i].text) != starter.first || words[i + 1].text != starter.second) continue;
      out->engine = starter.engine;
      out->model_first = starter.model_first;
      return i + 2;
    }
  }
  if (const auto program = EntrypointOf(words)) return FindBehindImage(words, *program, out);
  for (size_t i = 0; i < words.size(); ++i) {
    const std::optional<NamedImage> image = ImageOf(words[i].text);
    if (!image || !image->image->serves) continue;
    out->engine = image->image->engine;
    return i + 1;
  }
  return std::nullopt;
}

// The engine's image among the words before `end`.
void FindImage(const Words& words, size_t end, ServeCommand* out) {
  for (size_t i = 0; i < end; ++i) {
    std::optional<NamedImage> image = ImageOf(words[i].text);
    if (!image) continue;
    out->image = std::move(image->name);
    out->image_tag = std::move(image->tag);
    if (words[i].expands) return;
    const std::string& text = words[i].text;
    const size_t at = text.find('@');
    out->image_whole = text.substr(0, at);
    if (at != std::string::npos) out->image_digest = text.substr(at + 1);
    return;
  }
}

// "bash -c 'script'", or "--entrypoint bash IMAGE -c 'script'": where the script is.
std::optional<size_t> InnerScript(const Words& words) {
  const auto is_shell = [](const std::string& name) { return name == "bash" || name == "sh"; };
  const auto runs = [&](size_t i) {
    const std::string& flags = words[i].text;
    return flags.size() > 1 && flags[0] == '-' && flags[1] != '-' && flags.ends_with('c') &&
           !words[i + 1].expands;
  };
  for (size_t i = 0; i + 2 < words.size(); ++i) {
    if (is_shell(BaseName(words[i].text)) && runs(i + 1)) return i + 2;
  }
  if (const auto program = EntrypointOf(words); program && is_shell(*program)) {
    // The last: docker has a -c of its own.
    for (size_t i = words.size() - 1; i-- > 1;) {
      if (runs(i) && !IsBehindOption(words, i)) return i + 1;
    }
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

// Words that do nothing for the one that serves: a shell's options and its directory, and the
// cluster that Ray starts for it.
bool IsHarmless(const Words& words) {
  static constexpr std::array<std::string_view, 6> kNames = {"set",    "cd",    "ulimit",
                                                             "source", "conda", "."};
  if (std::find(kNames.begin(), kNames.end(), words.front().text) != kNames.end()) return true;
  const auto program = std::find_if(words.begin(), words.end(),
                                    [](const ShellWord& word) { return !Assignment(word); });
  if (program == words.end() || BaseName(program->text) != "ray") return false;
  const auto verb = program + 1;
  return verb != words.end() &&
         (verb->text == "start" || verb->text == "stop" || verb->text == "status");
}

Status Find(std::string_view text, int depth, ServeCommand* out, bool* found) {
  SHARDPLAN_ASSIGN_OR_RETURN(const std::vector<Words> commands, SplitShell(text));
  for (const Words& words : commands) {
    if (OnlySets(words)) {
      TakeEnvironment(words, words.size(), out);
      continue;
    }
    if (const auto begin = FindServe(words, out)) {
      if (*found) return Refuse("expected one command that serves, found two");
      TakeEnvironment(words, *begin, out);
      FindImage(words, *begin, out);
      out->words.assign(words.begin() + static_cast<std::ptrdiff_t>(*begin), words.end());
      *found = true;
    } else if (const auto inner = InnerScript(words); inner && depth == 0) {
      TakeEnvironment(words, *inner, out);
      FindImage(words, *inner, out);
      SHARDPLAN_RETURN_IF_ERROR(Find(words[*inner].text, depth + 1, out, found));
    } else if (*found && words.front().text.starts_with('-')) {
      return Refuse(fmt::format("expected a command, found the option {} at the start of a line",
                                Printable(words.front().text, 60)),
                    "a line that goes on ends in a backslash, with no blank behind it");
    } else if (!IsHarmless(words)) {
      return Refuse("expected `vllm serve` or `sglang.launch_server`, found " +
                        Printable(words.front().text, 60),
                    "give the command that serves, and assignments before it");
    }
  }
  return {};
}

}  // namespace

std::string CudaOfTag(const std::string& tag) {
  const size_t at = tag.find("-cu");
  if (at == std::string::npos) return "";
  const std::string digits = tag.substr(at + 3, tag.find('-', at + 1) - at - 3);
  const bool number =
      digits.size() == 3 && digits.find_first_not_of("0123456789") == std::string::npos;
  return number ? digits.substr(0, 2) + "." + digits.substr(2) : "";
}

std::string TagOf(const std::string& image) {
  const std::string base = BaseName(image.substr(0, image.find('@')));
  const size_t colon = base.find(':');
  return colon == std::string::npos ? "" : base.substr(colon + 1);
}

Result<ServeCommand> FindServeCommand(std::string_view text) {
  ServeCommand command;
  bool found = false;
  SHARDPLAN_RETURN_IF_ERROR(Find(text, 0, &command, &found));
  if (!found) {
    return Refuse(
        "expected `vllm serve MODEL …` or `python3 -m sglang.launch_server …`, found no "
        "such command",
        "`python -m vllm.entrypoints.openai.api_server`, `sglang serve` and images named "
        "vllm-openai are understood as well");
  }
  return command;
}

}  // namespace shardplan
