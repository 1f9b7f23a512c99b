#include "launch/shell_words.h"

#include <algorithm>
#include <array>

namespace shardplan {
namespace {

constexpr size_t kLongest = size_t{1} << 20;

tl::unexpected<Error> Refuse(std::string message, std::string hint = "") {
  return Fail(ErrorCode::kUsage, "command", std::move(message), std::move(hint));
}

bool IsNameStart(char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

class Splitter {
 public:
  explicit Splitter(std::string_view text) : text_(text) {}

  Result<std::vector<std::vector<ShellWord>>> Run() {
    while (at_ < text_.size()) {
      SHARDPLAN_RETURN_IF_ERROR(Step());
    }
    SHARDPLAN_RETURN_IF_ERROR(EndCommand());
    return std::move(commands_);
  }

 private:
  char Peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool Eat(std::string_view what) {
    if (!text_.substr(at_).starts_with(what)) return false;
    at_ += what.size();
    return true;
  }

  void EndWord() {
    if (in_word_ && !to_file_) words_.push_back(std::move(word_));
    if (in_word_) to_file_ = false;
    word_ = {};
    in_word_ = false;
  }
  Status EndCommand() {
    EndWord();
    if (to_file_) return Refuse("ends in a redirection");
    if (!words_.empty() && !reads_output_) commands_.push_back(std::move(words_));
    words_.clear();
    reads_output_ = false;
    return {};
  }

  // `2>&1`, `> log`, `&>> log`: where output goes changes nothing of what runs. Input stays
  // refused:
  // "<" begins the placeholders that people paste.
  bool EatRedirection() {
    const bool has_descriptor =
        in_word_ && word_.text.find_first_not_of("0123456789") == std::string::npos;
    const size_t before = at_;
    if (!Eat("&>>") && !Eat("&>") && !Eat(">>") && !Eat(">&") && !Eat(">|") && !Eat(">")) {
      return false;
    }
    if (Peek() == '(') {  // a process
      at_ = before;
      return false;
    }
    if (has_descriptor && text_[before] == '>') {
      word_ = {};
      in_word_ = false;
    }
    EndWord();
    to_file_ = true;
    return true;
  }

  // `| tee log`: a program that only reads what the one before it prints.
  Result<bool> EatReader() {
    static constexpr std::array<std::string_view, 9> kReaders = {
        "tee", "cat", "grep", "ts", "awk", "sed", "logger", "rotatelogs", "multilog"};
    if (Peek() != '|' || Peek(1) == '|') return false;
    size_t begin = at_ + (Peek(1) == '&' ? 2 : 1);
    while (begin < text_.size() && (text_[begin] == ' ' || text_[begin] == '\t')) ++begin;
    const size_t end = std::min(text_.find_first_of(" \t\r\n;|&", begin), text_.size());
    const std::string_view name = text_.substr(begin, end - begin);
    if (std::find(kReaders.begin(), kReaders.end(), name) == kReaders.end()) return false;
    SHARDPLAN_RETURN_IF_ERROR(EndCommand());
    reads_output_ = true;
    at_ = begin;
    return true;
  }
  void Add(char c) {
    word_.text += c;
    in_word_ = true;
  }

  Status Step() {
    if (Eat("\\\n") || Eat("\\\r\n")) return {};
    const char c = Peek();
    if (c == ' ' || c == '\t' || c == '\r') {
      EndWord();
      ++at_;
      return {};
    }
    if (EatRedirection()) return {};
    SHARDPLAN_ASSIGN_OR_RETURN(const bool reader, EatReader());
    if (reader) return {};
    if (Eat("\n") || Eat("&&") || Eat(";") || Eat("&")) return EndCommand();
    if (c == '#' && !in_word_) {
      at_ = std::min(text_.find('\n', at_), text_.size());
      return {};
    }
    if (std::string_view("|<>()").find(c) != std::string_view::npos) {
      return Refuse(std::string("holds a shell's '") + c + "' outside quotes",
                    c == '<' || c == '>' ? "leave it out, and quote placeholders"
                                         : "give the command that serves alone");
    }
    if (c == '\'') return SingleQuoted();
    if (c == '"') return DoubleQuoted();
    if (c == '$') return Dollar(/*quoted=*/false);
    if (c == '`') return Substitution();
    if (c == '\\') {
      ++at_;
      if (at_ == text_.size()) return Refuse("ends in a backslash");
    } else if (c == '~' && !in_word_) {
      word_.expands = true;
    }
    Add(Peek());
    ++at_;
    return {};
  }

  Status SingleQuoted() {
    const size_t end = text_.find('\'', at_ + 1);
    if (end == std::string_view::npos) return Refuse("a ' is not closed");
    word_.text += text_.substr(at_ + 1, end - at_ - 1);
    in_word_ = true;
    at_ = end + 1;
    return {};
  }

  Status DoubleQuoted() {
    in_word_ = true;
    ++at_;
    while (at_ < text_.size()) {
      if (Eat("\"")) return {};
      if (Eat("\\\n") || Eat("\\\r\n")) continue;
      const char c = Peek();
      if (c == '`') return Substitution();
      if (c == '$') {
        SHARDPLAN_RETURN_IF_ERROR(Dollar(/*quoted=*/true));
        continue;
      }
      if (c == '\\' && std::string_view("$`\"\\").find(Peek(1)) != std::string_view::npos) ++at_;
      Add(Peek());
      ++at_;
    }
    return Refuse("a \" is not closed");
  }

  static tl::unexpected<Error> Substitution() {
    return Refuse("holds a command substitution", "write what it gives");
  }

  Status Dollar(bool quoted) {
    const char next = Peek(1);
    if (next == '(') return Substitution();
    if (!quoted && next == '\'') return AnsiQuoted();
    if (!quoted && next == '"') {
      ++at_;
      return DoubleQuoted();
    }
    Add('$');
    ++at_;
    if (next == '{') {
      const size_t end = text_.find('}', at_);
      if (end == std::string_view::npos) return Refuse("a ${ is not closed");
      word_.text += text_.substr(at_, end + 1 - at_);
      word_.expands = true;
      at_ = end + 1;
    } else if (IsNameStart(next) || IsDigit(next) ||
               std::string_view("@*#?-$!").find(next) != std::string_view::npos) {
      word_.expands = next != '\0';
    }
    return {};
  }

  // $'…': what ShellQuote writes for bytes that a terminal must not see.
  Status AnsiQuoted() {
    in_word_ = true;
    at_ += 2;
    while (at_ < text_.size()) {
      if (Eat("'")) return {};
      if (!Eat("\\")) {
        Add(Peek());
        ++at_;
        continue;
      }
      SHARDPLAN_RETURN_IF_ERROR(Escape());
    }
    return Refuse("a $' is not closed");
  }

  Status Escape() {
    static constexpr std::string_view kNames = "abefnrtv\\'\"?";
    static constexpr std::string_view kBytes = "\a\b\x1b\f\n\r\t\v\\'\"?";
    const char c = Peek();
    if (const size_t known = kNames.find(c); c != '\0' && known != std::string_view::npos) {
      Add(kBytes[known]);
      ++at_;
      return {};
    }
    const bool hexadecimal = c == 'x';
    if (!hexadecimal && !(c >= '0' && c <= '7')) {
      Add('\\');
      return {};
    }
    if (hexadecimal) ++at_;
    const int base = hexadecimal ? 16 : 8;
    int value = 0;
    for (int digits = 0; digits < (hexadecimal ? 2 : 3); ++digits) {
      const int digit = DigitOf(Peek());
      if (digit < 0 || digit >= base) break;
      value = value * base + digit;
      ++at_;
    }
    if (value % 256 == 0) return Refuse("holds a zero byte");
    Add(static_cast<char>(value));
    return {};
  }

  static int DigitOf(char c) {
    if (IsDigit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  }

  std::string_view text_;
  size_t at_ = 0;
  bool in_word_ = false;
  bool to_file_ = false;       // the word is where a redirection goes
  bool reads_output_ = false;  // the command does no more than that
  ShellWord word_;
  std::vector<ShellWord> words_;
  std::vector<std::vector<ShellWord>> commands_;
};

}  // namespace

Result<std::vector<std::vector<ShellWord>>> SplitShell(std::string_view text) {
  if (text.size() > kLongest) return Refuse("longer than 1 MiB");
  if (text.find('\0') != std::string_view::npos) return Refuse("holds a zero byte");
  return Splitter(text).Run();
}

}  // namespace shardplan
