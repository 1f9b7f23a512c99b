#include "launch/secrets.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "launch/shell_words.h"
#include "shardplan/launch/shell.h"

namespace shardplan {
namespace {

constexpr std::string_view kRemoved = "REMOVED";
constexpr int kDeepest = 4;  // bash -c within bash -c

bool IsNamePart(char c) {
  return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// "API_KEY" of "--api-key".
std::string VariableOf(std::string_view flag) {
  std::string out;
  for (const char c : flag.substr(std::min<size_t>(2, flag.size()))) {
    out += c == '-' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return out;
}

// Where the value of an assignment to a secret begins: in "HF_TOKEN=x", "--env=HF_TOKEN=x" and
// docker's "-eHF_TOKEN=x"; npos where the word is none.
size_t SecretAssignment(std::string_view word) {
  size_t begin = 0;
  if (word.starts_with("--env=")) {
    begin = 6;
  } else if (word.starts_with("-e")) {
    begin = 2;
  }
  const size_t equals = word.find('=', begin);
  if (equals == std::string_view::npos || equals == begin) return std::string_view::npos;
  const std::string_view name = word.substr(begin, equals - begin);
  const bool is_name = std::all_of(name.begin(), name.end(), IsNamePart);
  return is_name && LooksSecret(name) ? equals + 1 : std::string_view::npos;
}

// A word with variables that its shell replaces: they stay what they are in double quotes.
std::string QuoteExpanding(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\' || c == '`') out += '\\';
    out += c;
  }
  return out + "\"";
}

class Remover {
 public:
  explicit Remover(int depth) : depth_(depth) {}

  bool removed() const { return removed_; }

  // One word of a command; those behind a secret flag are its values.
  std::string Word(const std::string& word) {
    if (word.starts_with('-')) {
      const size_t equals = word.find('=');
      of_secret_ = IsSecretFlag(word.substr(0, equals));
      if (of_secret_ && equals != std::string::npos) {
        of_secret_ = false;
        return Removed(word.substr(0, equals + 1));
      }
    } else if (of_secret_) {
      return Removed("");
    }
    const size_t value = SecretAssignment(word);
    return value == std::string_view::npos ? Script(word) : Removed(word.substr(0, value));
  }

  // A whole command.
  std::string Text(const std::string& text) {
    const auto commands = SplitShell(text);
    if (!commands) return MayHoldSecret(text) ? Removed("") : text;
    Remover inside(depth_);
    std::string out;
    for (const std::vector<ShellWord>& words : *commands) {
      if (!out.empty()) out += "; ";
      inside.of_secret_ = false;
      for (const ShellWord& word : words) {
        const std::string shown = inside.Word(word.text);
        if (&word != &words.front()) out += " ";
        out += word.expands && shown == word.text ? QuoteExpanding(shown) : ShellQuote(shown);
      }
    }
    if (!inside.removed_) return text;
    removed_ = true;
    return out;
  }

 private:
  std::string Removed(std::string before) {
    removed_ = true;
    before += kRemoved;
    return before;
  }

  // A word may be a script of its own: bash -c '…'.
  std::string Script(const std::string& word) {
    if (depth_ >= kDeepest || word.find_first_of(" \t\n") == std::string::npos) return word;
    Remover inside(depth_ + 1);
    std::string text = inside.Text(word);
    removed_ = removed_ || inside.removed_;
    return text;
  }

  static bool MayHoldSecret(const std::string& text) {
    static constexpr std::array<std::string_view, 5> kNames = {"KEY", "TOKEN", "SECRET", "PASSWORD",
                                                               "API"};
    std::string upper;
    for (const char c : text) {
      upper += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    }
    return std::any_of(kNames.begin(), kNames.end(), [&](std::string_view name) {
      return upper.find(name) != std::string::npos;
    });
  }

  int depth_;
  bool of_secret_ = false;
  bool removed_ = false;
};

}  // namespace

bool LooksSecret(std::string_view variable) {
  if (variable.ends_with("TOKEN") || variable.ends_with("_KEY")) return true;  // not …_TOKENS_…
  return variable.find("SECRET") != std::string_view::npos ||
         variable.find("PASSWORD") != std::string_view::npos;
}

bool IsSecretFlag(std::string_view flag) {
  if (!flag.starts_with("--") || flag.size() < 5) return false;
  const std::string name = VariableOf(flag);
  if (LooksSecret(name)) return true;
  // Python's argparse takes abbreviations.
  static constexpr std::array<std::string_view, 4> kFlags = {"API_KEY", "ADMIN_API_KEY", "HF_TOKEN",
                                                             "SSL_KEYFILE_PASSWORD"};
  return std::any_of(kFlags.begin(), kFlags.end(), [&](std::string_view secret) {
    return secret.starts_with(name) && name != "SSL_KEYFILE";
  });
}

std::vector<std::string> WithoutSecrets(const std::vector<std::string>& line) {
  constexpr std::string_view kCommand = "--from-command";
  std::vector<std::string> out;
  Remover remover(0);
  for (size_t i = 0; i < line.size(); ++i) {
    const std::string& word = line[i];
    if (word == kCommand && i + 1 < line.size()) {
      out.push_back(word);
      out.push_back(remover.Text(line[++i]));
    } else if (word.starts_with(kCommand) && word.substr(kCommand.size()).starts_with('=')) {
      out.push_back(std::string(kCommand) + "=" + remover.Text(word.substr(kCommand.size() + 1)));
    } else {
      out.push_back(remover.Word(word));
    }
  }
  return out;
}

}  // namespace shardplan
