#include "engine/choice_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "engine/flag_table.h"
#include "engine/rule_book.h"
#include "engine/tsv_table.h"

namespace shardplan {
namespace {

std::optional<ChoiceForm> FormNamed(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, ChoiceForm>, 4> kNames = {
      {{"exact", ChoiceForm::kExact},
       {"loose", ChoiceForm::kLoose},
       {"open", ChoiceForm::kOpen},
       {"parser", ChoiceForm::kParser}}};
  for (const auto& [known, form] : kNames) {
    if (known == name) return form;
  }
  return std::nullopt;
}

// "name", "name>0.10.2", "name<0.5.18", "name>0.5.3<0.5.18"; nothing where it is none of these.
std::optional<Choice> ReadChoice(const std::string& text) {
  Choice choice;
  choice.name = text.substr(0, text.find_first_of("<>"));
  std::string rest = text.substr(choice.name.size());
  if (rest.starts_with('>')) {
    const size_t end = std::min(rest.find('<'), rest.size());
    choice.after = rest.substr(1, end - 1);
    rest.erase(0, end);
    if (!ParseVersion(choice.after)) return std::nullopt;
  }
  if (rest.starts_with('<')) {
    choice.gone = rest.substr(1);
    if (!ParseVersion(choice.gone)) return std::nullopt;
    rest.clear();
  }
  if (choice.name.empty() || !rest.empty()) return std::nullopt;
  return choice;
}

}  // namespace

std::string ChoiceRow::Compared(const std::string& value) const {
  if (form != ChoiceForm::kLoose) return value;
  std::string text = value;
  for (char& c : text) {
    if (c == '-') c = '_';
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

const Choice* ChoiceRow::Find(const std::string& value) const {
  const std::string text = Compared(value);
  const auto found = std::find_if(choices.begin(), choices.end(),
                                  [&](const Choice& choice) { return choice.name == text; });
  return found == choices.end() ? nullptr : &*found;
}

std::vector<std::string> ChoiceRow::NamesAt(std::string_view version) const {
  std::vector<std::string> names;
  for (const Choice& choice : choices) {
    if (!IsBefore(version, choice) && !IsPast(version, choice)) names.push_back(choice.name);
  }
  return names;
}

bool IsBefore(std::string_view version, const Choice& choice) {
  return ParseVersion(version) && !choice.after.empty() && !IsOlder(choice.after, version);
}

bool IsPast(std::string_view version, const Choice& choice) {
  if (choice.gone.empty()) return false;
  return version.empty() || (ParseVersion(version) && !IsOlder(version, choice.gone));
}

Result<ChoiceTable> ChoiceTable::Load(const ConfigStore& store, std::string_view engine) {
  ChoiceTable table;
  table.engine_ = engine;
  const std::string name = fmt::format("engines/{}/choices.tsv", engine);
  SHARDPLAN_ASSIGN_OR_RETURN(const auto lines, ReadTsvTable(store, name, 4, 4));
  for (const std::vector<std::string>& cells : lines) {
    const auto refuse = [&](const std::string& what) {
      return Fail(ErrorCode::kInvalidInput, store.Origin(name),
                  fmt::format("{}: {}", cells[0], what));
    };
    const std::optional<ChoiceForm> form = FormNamed(cells[1]);
    if (!form) return refuse("expected exact, loose, open or parser");
    if ((*form == ChoiceForm::kParser) == cells[2].empty()) {
      return refuse("expected the flag of a plugin for the form parser, and for no other");
    }
    ChoiceRow row{cells[0], *form, cells[2], {}};
    for (const std::string& text : SplitText(cells[3], '|')) {
      std::optional<Choice> choice = ReadChoice(text);
      if (!choice) return refuse("expected names between bars, such as name>0.10.2");
      row.choices.push_back(*std::move(choice));
    }
    table.rows_.insert_or_assign(cells[0], std::move(row));
  }
  return table;
}

const ChoiceRow* ChoiceTable::Find(std::string_view flag) const {
  const auto found = rows_.find(flag);
  return found == rows_.end() ? nullptr : &found->second;
}

}  // namespace shardplan
