// Options whose values we read ourselves, so that every error reads alike.
#ifndef SHARDPLAN_CLI_OPTION_SET_H_
#define SHARDPLAN_CLI_OPTION_SET_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shardplan/base/result.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace shardplan::cli {

// A command of no program, for options whose texts come from elsewhere than the line.
std::shared_ptr<CLI::App> DetachedApp();

// Adds options to a command of CLI11. Values arrive as text after parsing; the first one that its
// reader refuses is kept in status(), its subject being the option and the text.
class OptionSet {
 public:
  using Reader = std::function<Status(const std::string& text)>;

  explicit OptionSet(CLI::App* app) : app_(app) {}
  OptionSet(const OptionSet&) = delete;
  OptionSet& operator=(const OptionSet&) = delete;

  // Later options are listed under this heading of the help.
  void Group(std::string name) { group_ = std::move(name); }

  // Later options call `note` with their first name, "--tp", each time one of them is read; an
  // empty one ends that.
  using Note = std::function<void(const std::string& name)>;
  void NoteReads(Note note) { note_ = std::move(note); }

  // An option with one value; `names` are "--tp,--tensor-parallel-size", `value` stands for the
  // value in the help. Given twice, it is refused.
  void Value(const std::string& names, const std::string& value, const std::string& help,
             Reader reader);
  // The same, but each use adds another value.
  void Repeated(const std::string& names, const std::string& value, const std::string& help,
                Reader reader);
  void Flag(const std::string& names, const std::string& help, std::function<void()> set);
  // The two cannot be given together.
  void Exclude(const std::string& first, const std::string& second);
  // A word without a name, in order.
  void Positional(const std::string& name, const std::string& help, std::string* out);

  // Shorthands for common readers.
  void Count(const std::string& names, const std::string& help, int64_t smallest,
             std::function<void(int64_t)> set);
  void Text(const std::string& names, const std::string& value, const std::string& help,
            std::function<void(std::string)> set);

  // The words of the line, so that errors name an option by the name that was given.
  void SetLine(std::vector<std::string> words) { line_ = std::move(words); }
  // The same words, the commands' names first.
  const std::vector<std::string>& line() const { return line_; }

  const Status& status() const { return status_; }

  // `step` runs once the line is read and sound, before the command does: for what looks at all
  // options together.
  void Afterwards(std::function<Status()> step) { afterwards_.push_back(std::move(step)); }
  Status Finish() const {
    for (const auto& step : afterwards_) SHARDPLAN_RETURN_IF_ERROR(step());
    return {};
  }

  // An option that was added, for those who set it by other means than the line.
  struct Known {
    std::vector<std::string> names;  // the long ones, without dashes: "tp", "tensor-parallel-size"
    std::string value;               // what stands for the value in the help; empty for a flag
    Reader read;                     // a flag's takes "true", and "false" for leaving it out
    const CLI::Option* option = nullptr;
    bool repeated = false;

    bool is_flag() const { return value.empty(); }
    bool is_list() const { return value.find(',') != std::string::npos; }  // "N,N,…"
    bool given() const;                                                    // on the line
    std::vector<std::string> texts() const;  // its values there, as they were written
  };
  const std::vector<Known>& known() const { return known_; }
  // By one of its long names, without dashes; nothing when there is none.
  const Known* Find(std::string_view name) const;

  // Another help text for an option that was added.
  void Describe(const std::string& name, const std::string& help);

  // From here on the option, which must be there, may be repeated and its texts are collected
  // unread.
  void Collect(std::string_view name, std::vector<std::string>* out);

 private:
  void Add(const std::string& names, const std::string& value, const std::string& help,
           bool repeated, Reader reader);
  void Keep(std::string_view option, const std::string& text, Status status);
  // Of the names "--tp,--tensor-parallel-size" the one on the line, else the first.
  std::string NameOnLine(const std::string& names) const;
  // `reader`, which then calls the note of NoteReads.
  Reader Noted(const std::string& names, Reader reader) const;

  CLI::App* app_;
  std::string group_ = "Options";
  Note note_;
  std::vector<Known> known_;
  std::vector<std::string> line_;
  Status status_;
  std::vector<std::function<Status()>> afterwards_;
};

// A whole number in decimal digits, at least `smallest`.
Result<int64_t> ParseCount(const std::string& text, int64_t smallest);

// A decimal number without exponent or sign, such as 0.9 or 32.
Result<double> ParseDecimal(const std::string& text);

}  // namespace shardplan::cli

#endif  // SHARDPLAN_CLI_OPTION_SET_H_
