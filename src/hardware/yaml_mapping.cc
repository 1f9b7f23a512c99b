#include "hardware/yaml_mapping.h"

#include <algorithm>

#include "shardplan/base/suggest.h"
#include "shardplan/base/units.h"

namespace shardplan::internal {

namespace {

// "2026-11-29", a day that there is.
bool IsDate(const std::string& text) {
  if (text.size() != 10) return false;
  int number[3] = {0, 0, 0};
  int part = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i == 4 || i == 7) {
      if (text[i] != '-') return false;
      ++part;
      continue;
    }
    if (text[i] < '0' || text[i] > '9') return false;
    number[part] = number[part] * 10 + (text[i] - '0');
  }
  static constexpr int kDays[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return number[1] >= 1 && number[1] <= 12 && number[2] >= 1 && number[2] <= kDays[number[1] - 1];
}

}  // namespace

tl::unexpected<Error> Place::Fail(const YAML::Mark& mark, std::string message,
                                  std::string hint) const {
  return shardplan::Fail(ErrorCode::kInvalidInput, At(mark), std::move(message), std::move(hint));
}

std::string Place::At(const YAML::Mark& mark) const {
  return fmt::format("{}:{}", Printable(file_), mark.line + 1);
}

std::string Place::Stem() const {
  const std::string name = BaseName(file_);
  return name.substr(0, name.rfind('.'));
}

Result<Mapping> Mapping::Read(const Place& place, const YAML::Node& node, std::string name,
                              const std::vector<std::string>& known) {
  if (!node.IsMap()) {
    return place.Fail(node.Mark(), (name.empty() ? "" : name + ": ") + "expected a mapping");
  }
  Mapping out(place, node, std::move(name));
  for (const auto& entry : node) {
    const YAML::Mark mark = entry.first.Mark();
    if (!entry.first.IsScalar()) return place.Fail(mark, "expected a word as the key");
    const std::string& key = entry.first.Scalar();
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      const std::vector<std::string> close = CloseNames(key, known);
      return place.Fail(mark, "unknown key " + out.Name(Printable(key)),
                        close.empty() ? "expected " + JoinWithOr(known)
                                      : "did you mean " + JoinWithOr(close) + "?");
    }
    if (out.Find(key) != nullptr) return place.Fail(mark, "second " + out.Name(key));
    out.entries_.push_back({key, mark, entry.second});
  }
  return out;
}

Result<YAML::Node> Mapping::Get(std::string_view key) const {
  if (const Entry* entry = Find(key)) return entry->value;
  return place_->Fail(node_.Mark(), "missing key " + Name(key));
}

Result<std::string> Mapping::Text(std::string_view key) const {
  SHARDPLAN_ASSIGN_OR_RETURN(const YAML::Node node, Get(key));
  if (!node.IsScalar() || node.Scalar().empty()) return Expected(key, node, "a text");
  return node.Scalar();
}

Result<std::string> Mapping::Word(std::string_view key, const YAML::Node& node) const {
  const bool word = node.IsScalar() && !node.Scalar().empty() &&
                    node.Scalar().find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.-") ==
                        std::string::npos;
  if (!word) return Expected(key, node, "lower-case letters, digits, dots and hyphens");
  return node.Scalar();
}

Result<Bytes> Mapping::Size(std::string_view key) const {
  SHARDPLAN_ASSIGN_OR_RETURN(const YAML::Node node, Get(key));
  const Result<Bytes> size = ParseBytes(node.IsScalar() ? node.Scalar() : "");
  if (!size) return Expected(key, node, "a byte size with a unit, such as 97871 MiB");
  return *size;
}

Result<Basis> Mapping::BasisOf(std::string_view key) const {
  SHARDPLAN_ASSIGN_OR_RETURN(const YAML::Node node, Get(key));
  const Result<Basis> basis = ParseBasis(node.IsScalar() ? node.Scalar() : "");
  if (!basis) return Expected(key, node, "exact, derived, measured or assumed");
  return *basis;
}

Result<std::string> Mapping::DatedSource() const {
  SHARDPLAN_ASSIGN_OR_RETURN(const std::string source, Text("source"));
  SHARDPLAN_ASSIGN_OR_RETURN(const YAML::Node node, Get("date"));
  const std::string date = node.IsScalar() ? node.Scalar() : "";
  if (!IsDate(date)) return Expected("date", node, "a date such as 2026-11-29");
  return fmt::format("{} ({})", source, date);
}

tl::unexpected<Error> Mapping::Expected(std::string_view key, const YAML::Node& node,
                                        std::string_view what) const {
  const std::string found = node.IsScalar()     ? Printable(node.Scalar(), 60)
                            : node.IsSequence() ? "a list"
                            : node.IsMap()      ? "a mapping"
                                                : "nothing";
  // yaml-cpp marks a value that is not there where the next one begins.
  const Entry* const entry = Find(key);
  const YAML::Mark mark = node.IsNull() && entry != nullptr ? entry->mark : node.Mark();
  return place_->Fail(mark, fmt::format("{}: expected {}, found {}", Name(key), what,
                                        found.empty() ? "an empty text" : found));
}

std::string Mapping::Name(std::string_view key) const {
  return name_.empty() ? std::string(key) : fmt::format("{}.{}", name_, key);
}

const Mapping::Entry* Mapping::Find(std::string_view key) const {
  for (const Entry& entry : entries_) {
    if (entry.key == key) return &entry;
  }
  return nullptr;
}

Result<SourcedBytes> ReadSourcedBytes(const Mapping& card, std::string_view key) {
  static const std::vector<std::string> kKeys = {"value", "low",    "central", "high",
                                                 "basis", "source", "date"};
  SHARDPLAN_ASSIGN_OR_RETURN(const YAML::Node node, card.Get(key));
  SHARDPLAN_ASSIGN_OR_RETURN(const Mapping map,
                             Mapping::Read(card.place(), node, std::string(key), kKeys));
  SourcedBytes out;
  if (map.Has("value")) {
    if (map.Has("low") || map.Has("central") || map.Has("high")) {
      return card.place().Fail(
          map.mark(), fmt::format("{}: expected either value or low, central and high", key));
    }
    SHARDPLAN_ASSIGN_OR_RETURN(const Bytes value, map.Size("value"));
    out.bytes = Range(value);
  } else {
    SHARDPLAN_ASSIGN_OR_RETURN(out.bytes.low, map.Size("low"));
    SHARDPLAN_ASSIGN_OR_RETURN(out.bytes.central, map.Size("central"));
    SHARDPLAN_ASSIGN_OR_RETURN(out.bytes.high, map.Size("high"));
    if (out.bytes.low > out.bytes.central || out.bytes.central > out.bytes.high) {
      return card.place().Fail(
          map.mark(), fmt::format("{}: expected low <= central <= high, found {}, {} and {}", key,
                                  FormatBytes(out.bytes.low), FormatBytes(out.bytes.central),
                                  FormatBytes(out.bytes.high)));
    }
  }
  SHARDPLAN_ASSIGN_OR_RETURN(out.basis, map.BasisOf("basis"));
  SHARDPLAN_ASSIGN_OR_RETURN(out.source, map.DatedSource());
  return out;
}

}  // namespace shardplan::internal
