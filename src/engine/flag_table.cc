#include "engine/flag_table.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <utility>

#include "engine/rule_book.h"
#include "engine/tsv_table.h"
#include "shardplan/base/file.h"

namespace shardplan {
namespace {

// vLLM: FlexibleArgumentParser (vllm/utils/argparse_utils.py, 00da11e3). SGLang: argparse as it
// comes (python/sglang/srt/server_args.py); `sglang serve` takes the model as its first word too.
constexpr std::array<Dialect, 2> kDialects = {
    {{"vllm", "vLLM", "VLLM_", "--model", "vllm serve MODEL", true, true},
     {"sglang", "SGLang", "SGL", "--model-path", "--model-path MODEL", false, false}}};

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
  static constexpr std::array<std::pair<std::string_view, FlagEffect>, 6> kNames = {
      {{"none", FlagEffect::kNone},
       {"memory", FlagEffect::kMemory},
       {"vision", FlagEffect::kVision},
       {"place", FlagEffect::kPlace},
       {"secret", FlagEffect::kSecret},
       {"setting", FlagEffect::kSetting}}};
  return Named(kNames, name);
}

tl::unexpected<Error> BadLine(const ConfigStore& store, const std::string& name,
                              const std::string& subject) {
  return Fail(ErrorCode::kInvalidInput, store.Origin(name),
              fmt::format("{}: unknown kind of flag or effect", subject));
}

}  // namespace

Result<FlagTable> FlagTable::Load(const ConfigStore& store, std::string_view engine) {
  FlagTable table;
  for (const Dialect& dialect : kDialects) {
    if (dialect.engine == engine) table.dialect_ = &dialect;
  }
  if (table.dialect_ == nullptr) {
    return Fail(ErrorCode::kUnsupported, "--engine " + Printable(engine),
                "its flags are not known here");
  }
  const std::string of_flags = fmt::format("engines/{}/flags.tsv", engine);
  const std::string of_variables = fmt::format("engines/{}/environment.tsv", engine);
  SHARDPLAN_ASSIGN_OR_RETURN(const auto flags, ReadTsvTable(store, of_flags, 6, 9));
  for (const std::vector<std::string>& cells : flags) {
    const auto takes = TakesNamed(cells[2]);
    const auto effect = EffectNamed(cells[5]);
    if (!takes || !effect) return BadLine(store, of_flags, cells[0]);
    FlagRow row{cells[0], {}, *takes, cells[3], cells[4], *effect, cells[6], {}, cells[8]};
    if (!cells[1].empty()) row.aliases = SplitText(cells[1], '|');
    if (!cells[7].empty()) row.harmless = SplitText(cells[7], '|');
    table.names_[row.name] = row.name;
    for (const std::string& alias : row.aliases) table.names_[alias] = row.name;
    table.rows_.insert_or_assign(cells[0], std::move(row));
  }
  SHARDPLAN_ASSIGN_OR_RETURN(const auto variables, ReadTsvTable(store, of_variables, 2, 2));
  for (const std::vector<std::string>& cells : variables) {
    const auto effect = EffectNamed(cells[1]);
    if (!effect) return BadLine(store, of_variables, cells[0]);
    table.variables_.emplace_back(cells[0], *effect);
  }
  return table;
}

const FlagRow* FlagTable::Find(std::string_view name) const {
  const auto found = names_.find(name);
  return found == names_.end() ? nullptr : &rows_.at(found->second);
}

std::vector<std::string> FlagTable::Completions(std::string_view prefix,
                                                std::string_view version) const {
  std::vector<std::string> found;
  for (auto at = names_.lower_bound(prefix); at != names_.end(); ++at) {
    const auto& [name, row] = *at;
    if (!name.starts_with(prefix)) break;
    const bool is_field = name.find('.') != std::string::npos;
    if (!is_field && HasFlag(version, rows_.at(row))) found.push_back(name);
  }
  return found;
}

FlagEffect FlagTable::EffectOfVariable(std::string_view name) const {
  for (const auto& [pattern, effect] : variables_) {
    const std::string_view stem(pattern.data(), pattern.size() - 1);
    if (pattern == name || (pattern.ends_with('*') && name.starts_with(stem))) return effect;
  }
  return FlagEffect::kNone;
}

bool HasFlag(std::string_view version, const FlagRow& row) {
  if (!row.exists()) return false;
  if (version.empty()) return row.until.empty();
  return !IsOlder(version, row.since) && (row.until.empty() || !IsOlder(row.until, version));
}

bool IsOlder(std::string_view a, std::string_view b) {
  const std::optional<EngineVersion> x = ParseVersion(a);
  const std::optional<EngineVersion> y = ParseVersion(b);
  return x && y && *x < *y;
}

}  // namespace shardplan
