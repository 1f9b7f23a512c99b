#include "cli/option_set.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <charconv>
#include <utility>

#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan::cli {
namespace {

// "--tp" of "--tp,--tensor-parallel-size".
std::string FirstName(const std::string& names) { return names.substr(0, names.find(',')); }

}  // namespace

std::shared_ptr<CLI::App> DetachedApp() { return std::make_shared<CLI::App>(); }

void OptionSet::Keep(std::string_view option, const std::string& text, Status status) {
  if (status || !status_) return;
  Error error = std::move(status).error();
  error.subject =
      text.empty() ? std::string(option) : fmt::format("{} {}", option, Printable(text));
  status_ = tl::unexpected<Error>(std::move(error));
}

std::string OptionSet::NameOnLine(const std::string& names) const {
  for (size_t begin = 0; begin < names.size();) {
    const size_t end = std::min(names.find(',', begin), names.size());
    const std::string name = names.substr(begin, end - begin);
    const auto is_name = [&](const std::string& word) {
      return word == name || word.starts_with(name + "=");
    };
    if (std::any_of(line_.begin(), line_.end(), is_name)) return name;
    begin = end + 1;
  }
  return FirstName(names);
}

OptionSet::Reader OptionSet::Noted(const std::string& names, Reader reader) const {
  if (!note_) return reader;
  return [note = note_, name = FirstName(names),
          read = std::move(reader)](const std::string& text) -> Status {
    SHARDPLAN_RETURN_IF_ERROR(read(text));
    if (text != "false") note(name);
    return {};
  };
}

void OptionSet::Add(const std::string& names, const std::string& value, const std::string& help,
                    bool repeated, Reader reader) {
  const CLI::callback_t read = [this, names, at = known_.size()](const CLI::results_t& values) {
    const std::string name = NameOnLine(names);
    const Known& self = known_[at];
    const auto refuse = [&](std::string message) {
      Keep(name, "", Fail(ErrorCode::kUsage, "", std::move(message)));
    };
    if (!self.repeated && values.size() > 1) {
      refuse(fmt::format("expected once, found {} times", values.size()));
      return true;
    }
    for (const std::string& text : values) {
      if (text.empty()) {
        refuse("expected a value, found nothing");
      } else if (text.starts_with("--")) {
        // CLI11 gives an option the next word, whatever it is.
        refuse("expected a value, found the option " + Printable(text));
      } else {
        Keep(name, text, self.read(text));
      }
    }
    return true;
  };
  CLI::Option* const option = app_->add_option(names, read, help);
  option->type_name(value)->group(group_);
  option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->allow_extra_args(false);
  known_.push_back(
      {option->get_lnames(), value, Noted(names, std::move(reader)), option, repeated});
}

void OptionSet::Value(const std::string& names, const std::string& value, const std::string& help,
                      Reader reader) {
  Add(names, value, help, false, std::move(reader));
}

void OptionSet::Repeated(const std::string& names, const std::string& value,
                         const std::string& help, Reader reader) {
  Add(names, value, help, true, std::move(reader));
}

void OptionSet::Flag(const std::string& names, const std::string& help, std::function<void()> set) {
  Reader read = Noted(names, [set = std::move(set)](const std::string& text) -> Status {
    if (text != "true" && text != "false") {
      return Fail(ErrorCode::kUsage, Printable(text), "expected true or false");
    }
    if (text == "true") set();
    return {};
  });
  CLI::Option* const option = app_->add_flag_callback(
      names, [read] { static_cast<void>(read("true")); }, help);
  option->group(group_)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  known_.push_back({option->get_lnames(), "", std::move(read), option, false});
}

const OptionSet::Known* OptionSet::Find(std::string_view name) const {
  for (const Known& known : known_) {
    if (std::find(known.names.begin(), known.names.end(), name) != known.names.end()) {
      return &known;
    }
  }
  return nullptr;
}

bool OptionSet::Known::given() const { return option->count() > 0; }

std::vector<std::string> OptionSet::Known::texts() const { return option->results(); }

void OptionSet::Describe(const std::string& name, const std::string& help) {
  app_->get_option(name)->description(help);
}

void OptionSet::Collect(std::string_view name, std::vector<std::string>* out) {
  for (Known& known : known_) {
    if (std::find(known.names.begin(), known.names.end(), name) == known.names.end()) continue;
    known.repeated = true;
    known.read = [out](const std::string& text) -> Status {
      out->push_back(text);
      return {};
    };
  }
}

void OptionSet::Exclude(const std::string& first, const std::string& second) {
  app_->get_option(first)->excludes(app_->get_option(second));
}

void OptionSet::Positional(const std::string& name, const std::string& help, std::string* out) {
  app_->add_option(name, *out, help);
}

void OptionSet::Count(const std::string& names, const std::string& help, int64_t smallest,
                      std::function<void(int64_t)> set) {
  Value(names, "N", help, [smallest, set = std::move(set)](const std::string& text) -> Status {
    SHARDPLAN_ASSIGN_OR_RETURN(const int64_t count, ParseCount(text, smallest));
    set(count);
    return {};
  });
}

void OptionSet::Text(const std::string& names, const std::string& value, const std::string& help,
                     std::function<void(std::string)> set) {
  Value(names, value, help, [set = std::move(set)](const std::string& text) -> Status {
    set(text);
    return {};
  });
}

Result<int64_t> ParseCount(const std::string& text, int64_t smallest) {
  int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < smallest) {
    return Fail(ErrorCode::kUsage, Printable(text),
                fmt::format("expected a whole number, at least {}", FormatCount(smallest)));
  }
  return value;
}

Result<double> ParseDecimal(const std::string& text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  const bool digits = text.find_first_not_of("0123456789.") == std::string::npos;
  if (error != std::errc() || stop != end || !digits) {
    return Fail(ErrorCode::kUsage, Printable(text), "expected a decimal number such as 0.9");
  }
  return value;
}

}  // namespace shardplan::cli
