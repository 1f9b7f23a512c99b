#include "engine/vllm/flag_table.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <utility>

#include "engine/rule_book.h"

namespace shardplan::vllm {
namespace {

constexpr const char* kFlags = "engines/vllm/flags.tsv";
constexpr const char* kVariables = "engines/vllm/environment.tsv";

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

template <typename T, size_t N>
std::optional<T> Named(const std::array<std::pair<std::string_view, T>, N>& names,
                       std::string_view name) {
  for (const auto& [known, value] : names) {
    if (known == name) return value;
  }
  return std::nullopt;
}

std::optional<FlagTakes> TakesNamed(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, FlagTakes>, 6> kNames = {
      {{"switch", FlagTakes::kSwitch},
       {"on", FlagTakes::kOn},
       {"one", FlagTakes::kOne},
       {"maybe", FlagTakes::kMaybe},
       {"many", FlagTakes::kMany},
       {"json", FlagTakes::kJson}}};
  return Named(kNames, name);
}

std::optional<FlagEffect> EffectNamed(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, FlagEffect>, 5> kNames = {
      {{"none", FlagEffect::kNone},
       {"memory", FlagEffect::kMemory},
       {"vision", FlagEffect::kVision},
       {"place", FlagEffect::kPlace},
       {"secret", FlagEffect::kSecret}}};
  return Named(kNames, name);
}

// The lines of a table without its heading, cut at tabs: at least `least` cells, filled up with
// empty ones to `columns`.
Result<std::vector<std::vector<std::string>>> ReadTable(const ConfigStore& store, const char* name,
                                                        size_t least, size_t columns) {
  SHARDPLAN_ASSIGN_OR_RETURN(const std::string_view text, store.Get(name));
  std::vector<std::vector<std::string>> lines;
  size_t number = 0;
  for (const std::string& line : Split(text, '\n')) {
    if (++number == 1 || line.empty()) continue;
    std::vector<std::string> cells = Split(line, '\t');
    if (cells.size() < least || cells.size() > columns || cells[0].empty()) {
      return Fail(ErrorCode::kInvalidInput, store.Origin(name),
                  fmt::format("line {}: expected a name and {} to {} columns, found {}", number,
                              least, columns, cells.size()));
    }
    cells.resize(columns);
    lines.push_back(std::move(cells));
  }
  return lines;
}

tl::unexpected<Error> BadLine(const ConfigStore& store, const char* name,
                              const std::string& subject) {
  return Fail(ErrorCode::kInvalidInput, store.Origin(name),
              fmt::format("{}: unknown kind of flag or effect", subject));
}

}  // namespace

Result<FlagTable> FlagTable::Load(const ConfigStore& store) {
  FlagTable table;
  SHARDPLAN_ASSIGN_OR_RETURN(const auto flags, ReadTable(store, kFlags, 6, 9));
  for (const std::vector<std::string>& cells : flags) {
    const auto takes = TakesNamed(cells[2]);
    const auto effect = EffectNamed(cells[5]);
    if (!takes || !effect) return BadLine(store, kFlags, cells[0]);
    FlagRow row{cells[0], cells[1], *takes, cells[3], cells[4], *effect, cells[6], {}, cells[8]};
    if (!cells[7].empty()) row.harmless = Split(cells[7], '|');
    if (!row.short_name.empty()) table.short_names_[row.short_name] = row.name;
    table.rows_.insert_or_assign(cells[0], std::move(row));
  }
  SHARDPLAN_ASSIGN_OR_RETURN(const auto variables, ReadTable(store, kVariables, 2, 2));
  for (const std::vector<std::string>& cells : variables) {
    const auto effect = EffectNamed(cells[1]);
    if (!effect) return BadLine(store, kVariables, cells[0]);
    table.variables_.emplace_back(cells[0], *effect);
  }
  return table;
}

const FlagRow* FlagTable::Find(std::string_view name) const {
  if (const auto shorter = short_names_.find(name); shorter != short_names_.end()) {
    name = shorter->second;
  }
  const auto row = rows_.find(name);
  return row == rows_.end() ? nullptr : &row->second;
}

std::vector<const FlagRow*> FlagTable::Completions(std::string_view prefix) const {
  std::vector<const FlagRow*> found;
  for (auto row = rows_.lower_bound(prefix); row != rows_.end(); ++row) {
    if (!row->first.starts_with(prefix)) break;
    const bool is_field = row->first.find('.') != std::string::npos;
    if (row->second.until.empty() && !is_field) found.push_back(&row->second);
  }
  return found;
}

std::vector<std::string> FlagTable::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, row] : rows_) {
    if (row.until.empty() && name.find('.') == std::string::npos) names.push_back(name);
  }
  return names;
}

FlagEffect FlagTable::EffectOfVariable(std::string_view name) const {
  for (const auto& [pattern, effect] : variables_) {
    const std::string_view stem(pattern.data(), pattern.size() - 1);
    if (pattern == name || (pattern.ends_with('*') && name.starts_with(stem))) return effect;
  }
  return FlagEffect::kNone;
}

bool IsOlder(std::string_view a, std::string_view b) {
  const std::optional<EngineVersion> x = ParseVersion(a);
  const std::optional<EngineVersion> y = ParseVersion(b);
  return x && y && *x < *y;
}

}  // namespace shardplan::vllm
