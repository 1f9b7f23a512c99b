#include "shardplan/launch/shell.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "shardplan/base/file.h"

namespace shardplan {
namespace {

bool IsPlain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("@%+=:,./_-").find(c) != std::string_view::npos;
}

std::string SingleQuoted(std::string_view word) {
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

// $'…': every byte outside printable ASCII as \xNN. Two digits always, so that a letter that
// follows is not taken for a third.
std::string AnsiQuoted(std::string_view word) {
  std::string out = "$'";
  for (const char c : word) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\'' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c >= 0x20 && c < 0x7f) {
      out += c;
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return out + "'";
}

// The first word is read differently: NAME=value would be an assignment, `if` a keyword.
std::string QuoteProgram(std::string_view word) {
  static constexpr std::array<std::string_view, 17> kKeywords = {
      "case",     "coproc", "do",     "done", "elif", "else",  "esac",  "fi", "for",
      "function", "if",     "select", "then", "time", "until", "while", "in"};
  const bool keyword = std::find(kKeywords.begin(), kKeywords.end(), word) != kKeywords.end();
  const std::string quoted = ShellQuote(word);
  const bool bare = quoted == word;
  return bare && (keyword || word.find('=') != std::string_view::npos) ? SingleQuoted(word)
                                                                       : quoted;
}

// "--flag" and "-x", but not "-1" or "-".
bool IsFlag(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && !(word[1] >= '0' && word[1] <= '9');
}

}  // namespace

std::string ShellQuote(std::string_view word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), IsPlain)) return std::string(word);
  // Printable() changes exactly what a terminal must not see; 4 bytes a byte is its worst case.
  return Printable(word, 4 * word.size() + 4) == word ? SingleQuoted(word) : AnsiQuoted(word);
}

std::string RenderCommand(const LaunchPlan& launch) {
  std::vector<std::string> lines;
  for (const auto& [name, value] : launch.env) lines.push_back(name + "=" + ShellQuote(value));
  for (size_t i = 0; i < launch.argv.size(); ++i) {
    const std::string& word = launch.argv[i];
    if (i == 0) {
      lines.push_back(QuoteProgram(word));
    } else if (i > 1 && IsFlag(word)) {  // `python3 -m` stays together
      lines.push_back("  " + ShellQuote(word));
    } else {
      lines.back() += " " + ShellQuote(word);
    }
  }
  return fmt::format("{}", fmt::join(lines, " \\\n"));
}

}  // namespace shardplan
