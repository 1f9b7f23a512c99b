#include "engine/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "shardplan/base/file.h"
#include "shardplan/base/suggest.h"

namespace shardplan {
namespace {

tl::unexpected<Error> Refuse(std::string_view subject, std::string message, std::string hint = "") {
  return Fail(ErrorCode::kUsage, Printable(subject), std::move(message), std::move(hint));
}

// What a text processor makes of "--": a hyphen, a dash or a minus of Unicode at the beginning.
bool HasTypographicDash(std::string_view word) {
  return word.starts_with("\xe2\x80\x90") || word.starts_with("\xe2\x80\x91") ||
         word.starts_with("\xe2\x80\x92") || word.starts_with("\xe2\x80\x93") ||
         word.starts_with("\xe2\x80\x94") || word.starts_with("\xe2\x88\x92");
}

// Whether argparse takes a word for a flag: a dash that begins neither a number nor a text with a
// blank. A blank behind "=" is the value's: `--hf-overrides={"a": 1}`.
bool IsFlag(const std::string& word) {
  if (word.size() < 2 || word[0] != '-') return false;
  const bool number = word.find_first_not_of("0123456789.", 1) == std::string::npos;
  return !number && word.find(' ') >= word.find('=');
}

// Dashes for the underscores between "--" and the first dot.
void Normalize(std::string* name) {
  if (!name->starts_with("--")) return;
  const size_t dot = std::min(name->find('.'), name->size());
  std::replace(name->begin(), name->begin() + static_cast<std::ptrdiff_t>(dot), '_', '-');
}

class Parser {
 public:
  Parser(const FlagTable& table, const std::vector<CommandWord>& words, std::string_view version,
         std::vector<CommandProblem>* problems)
      : table_(table), words_(words), version_(version), problems_(problems) {}

  Result<ParsedCommand> Run() {
    bool only_words = false;
    while (at_ < words_.size()) {
      const CommandWord& word = words_[at_++];
      problem_ = "command.value";
      if (!only_words && word.text == "--") {
        only_words = true;
      } else if (only_words || !IsFlag(word.text)) {
        SHARDPLAN_RETURN_IF_ERROR(Noted(Word(word)));
      } else {
        SHARDPLAN_RETURN_IF_ERROR(Noted(Flag(word)));
      }
    }
    problem_ = "command.value";
    // Objects that were given by fields are appended (vLLM): they replace one given whole.
    for (auto& [row, object] : objects_) {
      ParsedFlag flag;
      flag.row = row;
      flag.values = {object.json.Text()};
      flag.expands = object.expands;
      SHARDPLAN_RETURN_IF_ERROR(Noted(Keep(std::move(flag))));
    }
    return std::move(command_);
  }

 private:
  struct Object {
    JsonObject json;
    bool expands = false;
  };

  // Where problems are collected, one of them ends nothing.
  Status Noted(Status status) {
    if (status || problems_ == nullptr) return status;
    problems_->push_back({problem_, std::move(status).error()});
    return {};
  }

  // The values of a flag that could not be looked up: what `row` takes, or all up to the next flag.
  void SkipValues(const FlagRow* row) {
    if (problems_ == nullptr) return;
    const bool none =
        row != nullptr && (row->takes == FlagTakes::kOn || row->takes == FlagTakes::kSwitch);
    const bool one =
        row != nullptr && (row->takes == FlagTakes::kOne || row->takes == FlagTakes::kJson);
    if (none) return;
    while (at_ < words_.size() && !IsFlag(words_[at_].text)) {
      ++at_;
      if (one) return;
    }
  }

  // One that belongs to no flag.
  Status Word(const CommandWord& word) {
    if (!command_.model && table_.dialect().model_is_word) {
      command_.model = word;
      return {};
    }
    problem_ = "command.word";
    std::string hint = "quote values with blanks";
    if (HasTypographicDash(word.text)) hint = "write two hyphens for the dash of a text processor";
    if (word.text.find_first_not_of(" \t") == std::string::npos && !word.text.empty()) {
      hint = "a backslash that ends a line has no blank behind it";
    }
    if (!command_.model) hint += fmt::format("; the model is {}", table_.dialect().model_hint);
    return Refuse(word.text, "belongs to no flag", hint);
  }

  // The value behind "=", or the next word.
  Result<CommandWord> Value(const std::string& name, const CommandWord* attached) {
    if (attached != nullptr) return *attached;
    if (at_ == words_.size() || IsFlag(words_[at_].text)) {
      return Refuse(name, "expected a value, found nothing");
    }
    return words_[at_++];
  }

  Status Flag(const CommandWord& word) {
    std::string name = word.text;
    std::optional<CommandWord> attached;
    if (const size_t equals = name.find('='); equals != std::string::npos) {
      attached = CommandWord{name.substr(equals + 1), word.expands};
      name.resize(equals);
    }
    if (!attached && word.expands) {
      problem_ = "command.shell_variable";
      return Refuse(word.text, "is not known before a shell replaces it", "write its value");
    }
    const CommandWord* const value = attached ? &*attached : nullptr;
    if (table_.dialect().underscores) Normalize(&name);
    if (name.find('.') != std::string::npos) return Field(name, value);
    return Known(name, value);
  }

  // "--compilation-config.mode", "-cc.mode", "--list.of+".
  Status Field(const std::string& name, const CommandWord* attached) {
    const size_t dot = name.find('.');
    std::string flag = name.substr(0, dot);
    if (const FlagRow* const row = table_.Find(flag + ".")) flag = row->name;
    Result<Found> looked_up = Lookup(flag);
    if (!looked_up) {
      if (attached == nullptr) SkipValues(nullptr);
      return tl::unexpected(std::move(looked_up).error());
    }
    const Found found = *looked_up;
    if (found.row->takes != FlagTakes::kJson || found.negated) {
      return Refuse(name, "has no fields", "give its value behind " + found.row->name);
    }
    SHARDPLAN_ASSIGN_OR_RETURN(const CommandWord value, Value(name, attached));
    Object& object = ObjectOf(found.row);
    object.expands = object.expands || value.expands;
    return object.json.Add(std::string_view(name).substr(dot + 1), value.text);
  }

  Object& ObjectOf(const FlagRow* row) {
    for (auto& [known, object] : objects_) {
      if (known == row) return object;
    }
    return objects_.emplace_back(row, Object()).second;
  }

  struct Found {
    const FlagRow* row = nullptr;
    bool negated = false;
    bool abbreviated = false;
  };

  Result<Found> Lookup(const std::string& name) {
    const std::string_view engine = table_.dialect().name;
    if (const FlagRow* const row = table_.Find(name)) {
      if (row->exists()) return Found{row};
      problem_ = "command.flag_never";
      return Refuse(name, fmt::format("is no flag of {}", engine), row->note);
    }
    if (name.starts_with("--no-")) {
      const FlagRow* const row = table_.Find("--" + name.substr(5));
      if (row != nullptr && row->takes == FlagTakes::kSwitch) return Found{row, true};
    }
    if (name.starts_with("--")) {
      const std::vector<std::string> names = table_.Completions(name, version_);
      if (names.size() == 1) return Found{table_.Find(names[0]), false, true};
      if (names.size() > 1) return Ambiguous(name, names);
    }
    problem_ = "command.flag_unknown";
    // "--tp" of vLLM's "-tp", which has the other engine's spelling.
    if (name.starts_with("--")) {
      const FlagRow* const row = table_.Find(name.substr(1));
      if (row != nullptr && row->exists()) {
        return Refuse(name, fmt::format("is no flag of {}", engine),
                      fmt::format("write {} or {}", name.substr(1), row->name));
      }
    }
    const std::vector<std::string> close = CloseNames(name, table_.Names());
    return Refuse(name, fmt::format("is no flag of {} known here", engine),
                  close.empty() ? "" : "did you mean " + JoinWithOr(close) + "?");
  }

  // As argparse says it.
  tl::unexpected<Error> Ambiguous(const std::string& name, std::vector<std::string> names) {
    problem_ = "command.ambiguous";
    constexpr size_t kMost = 6;
    const bool more = names.size() > kMost;
    if (more) names.resize(kMost);
    return Refuse(
        name,
        fmt::format("{} refuses it: ambiguous option: {} could match {}{}", table_.dialect().name,
                    Printable(name), fmt::join(names, ", "), more ? ", …" : ""),
        "write the name out");
  }

  // Before 0.12 -O is short for --compilation-config, and a number in an object's place its level
  // (vllm/config/compilation.py from_cli, v0.8.5 to v0.11.0).
  bool IsOldLevel(const std::string& name, const CommandWord* attached) const {
    constexpr std::string_view kLevels = "0123";
    if (table_.dialect().engine != "vllm" || version_.empty() || !IsOlder(version_, "0.12.0")) {
      return false;
    }
    if (name.size() == 3 && name.starts_with("-O")) {
      return kLevels.find(name[2]) != std::string_view::npos;
    }
    if (name != "-O" && name != "--compilation-config") return false;
    if (attached == nullptr && at_ == words_.size()) return false;
    const std::string& value = attached != nullptr ? attached->text : words_[at_].text;
    return value.size() == 1 && kLevels.find(value[0]) != std::string_view::npos;
  }

  Status Known(const std::string& name, const CommandWord* attached) {
    if (IsOldLevel(name, attached)) {
      const CommandWord level{name.size() == 3 ? name.substr(2) : ""};
      return Field("--compilation-config.level", name.size() == 3 ? &level : attached);
    }
    Result<Found> found = Lookup(name);
    std::optional<CommandWord> glued;
    if (!found && name.size() > 2 && name[1] != '-') {
      // A flag of one letter may hold its value: -n2.
      const FlagRow* const row = table_.Find(name.substr(0, 2));
      if (row != nullptr) {
        problem_ = "command.value";
        found = Found{row};
        glued = CommandWord{name.substr(2)};
        attached = &*glued;
      }
    }
    if (!found) {
      if (attached == nullptr) SkipValues(table_.Find(name));
      return tl::unexpected(std::move(found).error());
    }
    ParsedFlag flag;
    flag.row = found->row;
    if (flag.row->name == table_.dialect().model_flag || flag.row->name == "--config") {
      SHARDPLAN_ASSIGN_OR_RETURN(CommandWord taken, Value(name, attached));
      (flag.row->name == "--config" ? command_.config : command_.model) = std::move(taken);
      return {};
    }
    flag.on = !found->negated;
    if (found->abbreviated) flag.written = name;
    SHARDPLAN_RETURN_IF_ERROR(TakeValues(name, attached, &flag));
    return Keep(std::move(flag));
  }

  Status TakeValues(const std::string& name, const CommandWord* attached, ParsedFlag* flag) {
    const auto take = [&](const CommandWord& word) {
      flag->values.push_back(word.text);
      flag->expands = flag->expands || word.expands;
    };
    const auto is_next = [&] { return at_ < words_.size() && !IsFlag(words_[at_].text); };
    switch (flag->row->takes) {
      case FlagTakes::kSwitch:
      case FlagTakes::kOn:
        if (attached == nullptr) return {};
        return Refuse(name, fmt::format("takes no value, found {}", Printable(attached->text)));
      case FlagTakes::kMaybe:
        if (attached != nullptr) {
          take(*attached);
        } else if (is_next()) {
          take(words_[at_++]);
        }
        return {};
      case FlagTakes::kMany: {
        SHARDPLAN_ASSIGN_OR_RETURN(const CommandWord first, Value(name, attached));
        take(first);
        while (attached == nullptr && is_next()) take(words_[at_++]);
        return {};
      }
      case FlagTakes::kOne:
      case FlagTakes::kJson:
        break;
    }
    SHARDPLAN_ASSIGN_OR_RETURN(const CommandWord value, Value(name, attached));
    take(value);
    return {};
  }

  // The last one of a flag counts; it stands where the first one stood.
  Status Keep(ParsedFlag flag) {
    if (flag.row->takes == FlagTakes::kJson && !flag.expands && flag.row->until.empty()) {
      Result<std::vector<JsonField>> fields = FieldsOf(flag.values.at(0));
      if (!fields) {
        Error error = std::move(fields).error();
        error.subject = fmt::format("{} {}", flag.row->name, error.subject);
        return tl::unexpected(std::move(error));
      }
      flag.fields = std::move(*fields);
    }
    for (ParsedFlag& known : command_.flags) {
      if (known.row != flag.row) continue;
      if (known.on != flag.on || known.values != flag.values) {
        command_.repeated.push_back(flag.row->name);
      }
      known = std::move(flag);
      return {};
    }
    command_.flags.push_back(std::move(flag));
    return {};
  }

  const FlagTable& table_;
  const std::vector<CommandWord>& words_;
  const std::string_view version_;
  std::vector<CommandProblem>* const problems_;  // null: the first one ends it
  std::string problem_;                          // the id of one, if it happens now
  size_t at_ = 0;
  ParsedCommand command_;
  std::vector<std::pair<const FlagRow*, Object>> objects_;
};

}  // namespace

std::vector<std::string> ParsedFlag::Words() const {
  std::vector<std::string> words = {on ? row->name : "--no-" + row->name.substr(2)};
  // A value that looks like a flag stays at its flag.
  if (values.size() == 1 && values[0].starts_with('-')) {
    words[0] += "=" + values[0];
    return words;
  }
  words.insert(words.end(), values.begin(), values.end());
  return words;
}

std::string ParsedFlag::ValueText() const {
  if (row->takes == FlagTakes::kSwitch || row->takes == FlagTakes::kOn)
    return on ? "true" : "false";
  return fmt::format("{}", fmt::join(values, " "));
}

const ParsedFlag* ParsedCommand::Find(std::string_view name) const {
  for (const ParsedFlag& flag : flags) {
    if (flag.row->name == name) return &flag;
  }
  return nullptr;
}

Result<ParsedCommand> ParseArguments(const FlagTable& table, const std::vector<CommandWord>& words,
                                     std::string_view version,
                                     std::vector<CommandProblem>* problems) {
  return Parser(table, words, version, problems).Run();
}

ParsedCommand Overridden(ParsedCommand base, ParsedCommand more) {
  if (more.model) base.model = std::move(more.model);
  for (ParsedFlag& flag : more.flags) {
    const auto known = std::find_if(base.flags.begin(), base.flags.end(),
                                    [&](const ParsedFlag& f) { return f.row == flag.row; });
    if (known == base.flags.end()) {
      base.flags.push_back(std::move(flag));
    } else {
      *known = std::move(flag);
    }
  }
  return base;
}

const FlagRow& RowOfField(const FlagTable& table, const FlagRow& flag, const std::string& path) {
  std::string name = flag.name + "." + path;
  while (name.size() > flag.name.size()) {
    if (const FlagRow* const row = table.Find(name)) return *row;
    name.resize(name.rfind('.'));
  }
  return flag;
}

}  // namespace shardplan
