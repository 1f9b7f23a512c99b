#include "cli/from_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "engine/choice_table.h"
#include "engine/command.h"
#include "engine/flag_values.h"
#include "engine/rule_book.h"
#include "launch/secrets.h"
#include "launch/serve_command.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan::cli {
namespace {

constexpr const char* kOption = "--from-command";

tl::unexpected<Error> Refuse(const std::string& subject, std::string message, std::string hint) {
  return Fail(ErrorCode::kUsage, fmt::format("{} {}", kOption, Printable(subject)),
              std::move(message), std::move(hint));
}

// The same error, said of what stands in the command.
Status Renamed(Status status, const std::string& subject) {
  if (status) return {};
  Error error = std::move(status).error();
  error.subject = fmt::format("{} {}", kOption, subject);
  return tl::unexpected(std::move(error));
}

template <typename T>
Result<T> Of(Result<T> result) {
  if (result) return result;
  Error error = std::move(result).error();
  error.subject =
      error.subject == "command" ? kOption : fmt::format("{} {}", kOption, error.subject);
  return tl::unexpected(std::move(error));
}

// Whether one of our options could come from a text that only a shell knows.
tl::unexpected<Error> NotKnown(const std::string& subject) {
  return Refuse(subject, "hangs on a shell variable", "write its value");
}

// "0.5.17" of the tag "v0.5.17-cu130".
std::string VersionOf(const std::string& tag) {
  const size_t begin = tag.starts_with('v') ? 1 : 0;
  return tag.substr(begin, tag.find('-') - begin);
}

class Applier {
 public:
  // With `problems` they are collected there, and what they are about is left out.
  Applier(const FlagTable& table, const ChoiceTable& choices, const OptionSet& given,
          DeploymentOptions* what, std::vector<CommandProblem>* problems)
      : table_(table),
        choices_(choices),
        given_(given),
        what_(*what),
        problems_(problems),
        readers_(what) {}

  Status Environment(const ServeCommand& command) {
    for (const auto& [name, word] : command.env) {
      if (LooksSecret(name)) {
        AddSecret(name);
        NoteSecret(name);
        continue;
      }
      if (IsGivenVariable(name)) continue;
      const FlagEffect effect = table_.EffectOfVariable(name);
      const bool own = name.starts_with(table_.dialect().variables);
      const bool matters = effect == FlagEffect::kSetting || (own && effect == FlagEffect::kMemory);
      const std::string text = name + "=" + word.text;
      if (word.expands) {
        if (matters) SHARDPLAN_RETURN_IF_ERROR(Noted(NotKnown(text), kShellVariable));
        continue;
      }
      SHARDPLAN_RETURN_IF_ERROR(
          Noted(Renamed(ParseVariable(text, &what_.deployment), Printable(text)), kValue));
    }
    return {};
  }

  Status Flags(const ParsedCommand& command) {
    command_ = &command;
    for (const ParsedFlag& flag : command.flags) {
      if (!flag.written.empty()) {
        what_.deployment.findings.push_back({"command.abbreviated", Severity::kNote, flag.written,
                                             "is read as " + flag.row->name,
                                             "write it out: a later flag may begin alike"});
      }
      SHARDPLAN_RETURN_IF_ERROR(Flag(flag));
    }
    return Noted(Nodes(command), kValue);
  }

  // The engine that the command starts, and the version of its image: the line's are the same, or
  // it names none.
  Status Engine(const ServeCommand& command) {
    Deployment& d = what_.deployment;
    const Dialect& engine = table_.dialect();
    if (!IsGiven("engine")) {
      d.engine = engine.engine;
      d.engine_version.clear();
    } else if (d.engine != engine.engine) {
      // Never collected: the rest would be read as another engine's.
      return Fail(ErrorCode::kUsage, "--engine " + Printable(d.engine),
                  fmt::format("the command of {} starts {}", kOption, engine.name),
                  fmt::format("leave --engine out, or write --engine {}", engine.engine));
    }
    d.image = command.image_whole;
    d.image_digest = command.image_digest;
    if (command.image_tag.empty()) return {};
    if (d.cuda.empty()) d.cuda = CudaOfTag(command.image_tag);
    const std::string image = command.image + ":" + command.image_tag;
    const std::optional<EngineVersion> version = ParseVersion(command.image_tag);
    if (!version) {
      d.findings.push_back({"command.image", Severity::kNote, image,
                            "names no version: planned as " +
                                (d.engine_version.empty() ? "the newest" : d.engine_version),
                            fmt::format("--engine {}@VERSION", engine.engine)});
    } else if (d.engine_version.empty()) {
      d.engine_version = VersionOf(command.image_tag);
    } else if (ParseVersion(d.engine_version) != version) {
      d.findings.push_back({"command.image", Severity::kWarning, image,
                            "another version than --engine names: the line's is planned", ""});
    }
    return {};
  }

  // Options of the line that something else of the command may have overwritten: a field of an
  // object, or SGLang's flags without a value.
  Status LineAgain() {
    for (const char* name :
         {"cudagraph-capture-sizes", "max-cudagraph-capture-size", "redundant-experts",
          "cuda-graph-backend-decode", "cuda-graph-backend-prefill"}) {
      const OptionSet::Known* const given = given_.Find(name);
      const OptionSet::Known* const reader = readers_.set().Find(name);
      if (given == nullptr || !given->given() || reader == nullptr) continue;
      SHARDPLAN_RETURN_IF_ERROR(
          Noted(Read(*reader, given->texts(), std::string("--") + name), kValue));
    }
    return {};
  }

  Status Model(const ParsedCommand& command) {
    const auto& model = command.model;
    if (model && !model->expands && !model->text.empty()) {
      what_.deployment.settings.served_model = model->text;
    }
    if (!what_.model.empty() || !model) return {};
    if (!model->expands && Exists(model->text)) {
      what_.model = model->text;
      return {};
    }
    if (problems_ != nullptr) return {};
    return Fail(ErrorCode::kUsage, "MODEL",
                fmt::format("the command serves {}, which is no path here", Printable(model->text)),
                "give the checkpoint or its config.json before the options: shardplan plan MODEL "
                "--from-command …");
  }

 private:
  static constexpr const char* kValue = "command.value";
  static constexpr const char* kShellVariable = "command.shell_variable";

  EngineSettings& settings() { return what_.deployment.settings; }

  void AddSecret(const std::string& name) {
    std::vector<std::string>& names = settings().command_secrets;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }

  // Where problems are collected, one of them ends nothing.
  Status Noted(Status status, const char* id) {
    if (status || problems_ == nullptr) return status;
    problems_->push_back({id, std::move(status).error()});
    return {};
  }

  // An option or its opposite.
  bool IsGiven(const std::string& name) const {
    const std::string stem = name.starts_with("no-") ? name.substr(3) : name;
    for (const std::string& either : {stem, "no-" + stem}) {
      const OptionSet::Known* const option = given_.Find(either);
      if (option != nullptr && option->given()) return true;
    }
    return false;
  }

  bool IsGivenVariable(const std::string& name) const {
    if (name.ends_with("_PP_LAYER_PARTITION") && IsGiven("pp-partition")) return true;
    const OptionSet::Known* const option = given_.Find("env");
    if (option == nullptr || !option->given()) return false;
    const std::vector<std::string>& texts = option->texts();
    return std::any_of(texts.begin(), texts.end(),
                       [&](const std::string& text) { return text.starts_with(name + "="); });
  }

  Status Read(const OptionSet::Known& option, const std::vector<std::string>& values,
              const std::string& subject) {
    std::vector<std::string> texts = values;
    if (!option.repeated && values.size() > 1) {
      texts = {fmt::format("{}", fmt::join(values, option.is_list() ? "," : " "))};
    }
    for (const std::string& text : texts) {
      if (text.empty()) return Refuse(subject, "expected a value, found nothing", "");
      SHARDPLAN_RETURN_IF_ERROR(
          Renamed(option.read(text), fmt::format("{} {}", subject, Printable(text))));
    }
    return {};
  }

  // One of our switches, on or off.
  Status ReadSwitch(const OptionSet::Known& option, bool on, const std::string& subject) {
    const OptionSet::Known* const opposite = readers_.set().Find("no-" + option.names.front());
    if (!on && opposite == nullptr) return {};  // off is what it is
    return Renamed((on ? option : *opposite).read("true"), subject);
  }

  Status Flag(const ParsedFlag& flag) {
    const FlagRow& row = *flag.row;
    const OptionSet::Known* const option = OptionOf(readers_.set(), row);
    const bool fields = option == nullptr && !flag.fields.empty();
    const std::string rest = fields                              ? FieldsWithoutRow(flag)
                             : row.effect == FlagEffect::kSecret ? std::string()
                                                                 : flag.ValueText();
    settings().command_flags.push_back(
        {row.name, rest, option != nullptr || (fields && rest.empty())});
    if (option != nullptr) {
      if (IsGiven(option->names.front())) return {};
      if (flag.expands) {
        return Noted(NotKnown(row.name + " " + flag.ValueText()), kShellVariable);
      }
      if (Status status = CheckValue(flag); !status) return Noted(std::move(status), kValue);
      if (option->is_flag()) return Noted(ReadSwitch(*option, flag.on, row.name), kValue);
      return Noted(Read(*option, flag.values, row.name), kValue);
    }
    if (flag.expands && row.effect == FlagEffect::kMemory) {
      return Noted(NotKnown(row.name + " " + flag.ValueText()), kShellVariable);
    }
    if (row.effect == FlagEffect::kSecret) NoteSecret(row.name);
    if (Status status = CheckValue(flag); !status) return Noted(std::move(status), kValue);
    if (fields) return Fields(flag);
    if (row.effect == FlagEffect::kSecret) AddSecret(row.name);
    if (!flag.expands && row.effect != FlagEffect::kPlace && row.effect != FlagEffect::kSecret) {
      Carry(flag.Words());
    }
    return {};
  }

  void NoteSecret(const std::string& name) {
    what_.deployment.findings.push_back(
        {"command.secret", Severity::kNote, Printable(name),
         "is left out of what is written here: its value looks secret",
         "hand it to the engine where it starts"});
  }

  // What the engine's own parser would say of a value, where its numbers or choices are known.
  Status CheckValue(const ParsedFlag& flag) {
    // Of an empty text its option says more.
    if (flag.expands || flag.values.size() != 1 || flag.values[0].empty() ||
        flag.row->effect == FlagEffect::kSecret) {
      return {};
    }
    const std::string& version = what_.deployment.engine_version;
    const ChoiceRow* const row = choices_.Find(flag.row->name);
    const bool plugin =
        row != nullptr && !row->plugin.empty() && command_->Find(row->plugin) != nullptr;
    const FlagValue value = {flag.row->name, flag.values[0], plugin};
    for (std::optional<Finding> finding :
         {CheckOpenValue(choices_, version, value),
          CheckValueVersion(choices_, table_.dialect().name, version, value)}) {
      if (finding) what_.deployment.findings.push_back(*std::move(finding));
    }
    Status status = CheckFlagValue(choices_, version, value);
    if (status) return {};
    Error error = std::move(status).error();
    error.subject = fmt::format("{} {}", kOption, error.subject);
    return tl::unexpected(std::move(error));
  }

  // The fields of an object that the table does not tell of, as one text.
  std::string FieldsWithoutRow(const ParsedFlag& flag) const {
    std::string text;
    for (const JsonField& field : flag.fields) {
      if (&RowOfField(table_, *flag.row, field.path) != flag.row) continue;
      text +=
          fmt::format("{}{}={}", text.empty() ? "" : " ", field.path, fmt::join(field.values, ","));
    }
    return text;
  }

  // An object that no option reads whole: its fields may have options.
  Status Fields(const ParsedFlag& flag) {
    bool all_carried = true;
    std::vector<std::string> words;
    for (const JsonField& field : flag.fields) {
      const FlagRow& row = RowOfField(table_, *flag.row, field.path);
      const std::string name = flag.row->name + "." + field.path;
      const OptionSet::Known* const option =
          row.option.empty() ? nullptr : OptionOf(readers_.set(), row);
      if (&row != flag.row) {
        settings().command_flags.push_back(
            {name, fmt::format("{}", fmt::join(field.values, " ")), option != nullptr});
      }
      if (option == nullptr) {
        words.push_back(name);
        words.push_back(field.json);
        continue;
      }
      all_carried = false;
      if (IsGiven(option->names.front())) continue;
      SHARDPLAN_RETURN_IF_ERROR(Noted(Read(*option, field.values, name), kValue));
    }
    Carry(all_carried ? flag.Words() : words);
    return {};
  }

  void Carry(const std::vector<std::string>& words) {
    std::vector<std::string>& extras = settings().extra_arguments;
    extras.insert(extras.end(), words.begin(), words.end());
  }

  // How many nodes the command is for: of one engine, or of engines that share none.
  Status Nodes(const ParsedCommand& command) {
    const auto count = [&](const char* name) -> Result<int64_t> {
      const ParsedFlag* const flag = command.Find(name);
      if (flag == nullptr || flag->expands) return 0;
      Result<int64_t> value = ParseCount(flag->values.at(0), 1);
      if (!value) return Refuse(name, "expected a whole number, at least 1", "");
      return value;
    };
    SHARDPLAN_ASSIGN_OR_RETURN(const int64_t nnodes, count("--nnodes"));
    if (const ParsedFlag* const rank = command.Find("--node-rank");
        rank != nullptr && !rank->expands && nnodes > 0) {
      const Result<int64_t> number = ParseCount(rank->values.at(0), 0);
      if (number && *number >= nnodes) {
        return Refuse("--node-rank " + rank->values.at(0),
                      fmt::format("expected a number below --nnodes {}", nnodes), "");
      }
    }
    SHARDPLAN_ASSIGN_OR_RETURN(const int64_t local, count("--data-parallel-size-local"));
    if (IsGiven("nodes")) return {};
    Deployment& d = what_.deployment;
    const int64_t dp = d.sizes.dp;
    if (nnodes > 0) {
      d.nodes = nnodes;
      // A command that spreads its ranks thinner than servers are full means it.
      const bool inside = d.engine == "sglang" && d.sglang.enable_dp_attention;
      const int64_t world = d.sizes.tp * d.sizes.pp * (inside ? 1 : dp);
      constexpr int64_t kUsualServer = 8;
      if (nnodes > 1 && !d.gpus_per_node && world % nnodes == 0 && world / nnodes < kUsualServer) {
        d.gpus_per_node = world / nnodes;
      }
    } else if (local > 0 && dp % local == 0) {
      d.nodes = dp / local;
    }
    return {};
  }

  const FlagTable& table_;
  const ChoiceTable& choices_;
  const OptionSet& given_;
  DeploymentOptions& what_;
  std::vector<CommandProblem>* const problems_;  // null: the first one ends it
  const DeploymentReaders readers_;
  const ParsedCommand* command_ = nullptr;  // that Flags() reads
};

// With what the file of --config holds, below the command's own flags.
Result<ParsedCommand> Parse(const FlagTable& table, const ServeCommand& serve,
                            const std::string& version, std::vector<CommandProblem>* problems) {
  std::vector<CommandWord> words;
  for (const ShellWord& word : serve.words) words.push_back({word.text, word.expands});
  if (serve.model_first && !words.empty() && !words[0].text.starts_with('-')) {
    words.insert(words.begin(), {std::string(table.dialect().model_flag)});
  }
  SHARDPLAN_ASSIGN_OR_RETURN(ParsedCommand command,
                             ParseArguments(table, words, version, problems));
  if (!command.config) return command;
  const std::string path = command.config->text;
  if (command.config->expands) return NotKnown("--config " + path);
  SHARDPLAN_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, Bytes(kMiB)));
  Result<std::vector<std::string>> lines = WordsOfYaml(text);
  if (!lines) {
    Error error = std::move(lines).error();
    error.subject = Printable(path);
    return tl::unexpected(std::move(error));
  }
  std::vector<CommandWord> of_file;
  for (std::string& line : *lines) of_file.push_back({std::move(line)});
  SHARDPLAN_ASSIGN_OR_RETURN(ParsedCommand base, ParseArguments(table, of_file, version, problems));
  return Overridden(std::move(base), std::move(command));
}

}  // namespace

Result<ConfigStore> StoreOf(const OptionSet& given) {
  const OptionSet::Known* const configs = given.Find("configs");
  if (configs == nullptr || !configs->given()) return ConfigStore::BuiltIn();
  return ConfigStore::WithOverrides(configs->texts().back());
}

const OptionSet::Known* OptionOf(const OptionSet& set, const FlagRow& row) {
  if (row.option == "-") return nullptr;
  return set.Find(row.option.empty() ? row.name.substr(2) : row.option);
}

Status ApplyCommand(const std::string& text, const ConfigStore& store, const OptionSet& given,
                    DeploymentOptions* what) {
  SHARDPLAN_RETURN_IF_ERROR(ReadCommand(text, store, given, nullptr, what));
  return {};
}

Result<CommandReading> ReadCommand(const std::string& text, const ConfigStore& store,
                                   const OptionSet& given, std::vector<CommandProblem>* problems,
                                   DeploymentOptions* what) {
  CommandReading reading;
  SHARDPLAN_ASSIGN_OR_RETURN(reading.serve, Of(FindServeCommand(text)));
  const ServeCommand& serve = reading.serve;
  SHARDPLAN_ASSIGN_OR_RETURN(reading.table, FlagTable::Load(store, serve.engine));
  SHARDPLAN_ASSIGN_OR_RETURN(const ChoiceTable choices, ChoiceTable::Load(store, serve.engine));
  Applier applier(reading.table, choices, given, what, problems);
  SHARDPLAN_RETURN_IF_ERROR(applier.Engine(serve));
  SHARDPLAN_ASSIGN_OR_RETURN(
      reading.command, Of(Parse(reading.table, serve, what->deployment.engine_version, problems)));
  const ParsedCommand& command = reading.command;
  SHARDPLAN_RETURN_IF_ERROR(applier.Environment(serve));
  SHARDPLAN_RETURN_IF_ERROR(applier.Flags(command));
  SHARDPLAN_RETURN_IF_ERROR(applier.LineAgain());
  SHARDPLAN_RETURN_IF_ERROR(applier.Model(command));
  reading.repeated = command.repeated;
  return reading;
}

void AddFromCommand(OptionSet* options, DeploymentOptions* out) {
  options->Group("Whole deployments (the options above override them)");
  const auto text = std::make_shared<std::string>();
  options->Text("--from-command", "COMMAND",
                "What starts the engine: 'ENV=… vllm serve MODEL --flag …' or 'python3 -m "
                "sglang.launch_server …'; MODEL may be left out where it is a path",
                [text](std::string given) { *text = std::move(given); });
  options->Afterwards([options, out, text]() -> Status {
    if (text->empty()) return {};
    SHARDPLAN_ASSIGN_OR_RETURN(const ConfigStore store, StoreOf(*options));
    return ApplyCommand(*text, store, *options, out);
  });
}

}  // namespace shardplan::cli
