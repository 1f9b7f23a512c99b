#include "engine/rule_book.h"

#include <fmt/format.h>

#include <charconv>
#include <stdexcept>

namespace shardplan {

std::optional<EngineVersion> ParseVersion(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  EngineVersion version = {0, 0, 0};
  for (size_t i = 0; i < version.size(); ++i) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version[i]);
    if (error != std::errc() || version[i] < 0) {
      return i == 0 ? std::nullopt : std::optional(version);
    }
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (!text.starts_with('.')) return version;
    text.remove_prefix(1);
  }
  return version;
}

Result<RuleBook> RuleBook::Load(const ConfigStore& store, std::string_view name) {
  RuleBook book;
  book.origin_ = store.Origin(name);
  SHARDPLAN_ASSIGN_OR_RETURN(const std::string_view text, store.Get(name));
  try {
    book.document_ = YAML::Load(std::string(text));
    if (!book.document_.IsMap()) {
      return Fail(ErrorCode::kInvalidInput, book.origin_, "expected a YAML mapping");
    }
    std::optional<EngineVersion> last;
    for (const YAML::Node& release : book.document_["releases"]) {
      book.releases_.push_back(release["version"].as<std::string>());
      book.cuts_.push_back(release["cut"].as<std::string>());
      const std::optional<EngineVersion> version = ParseVersion(book.releases_.back());
      if (!version || (last && *version <= *last)) {
        return Fail(ErrorCode::kInvalidInput, book.origin_,
                    "releases: expected versions in rising order, found " + book.releases_.back());
      }
      last = version;
    }
  } catch (const YAML::Exception& error) {
    return Fail(ErrorCode::kInvalidInput, book.origin_,
                fmt::format("line {}: {}", error.mark.line + 1, error.msg));
  }
  if (book.releases_.empty()) {
    return Fail(ErrorCode::kInvalidInput, book.origin_, "expected releases, found none");
  }
  return book;
}

std::string RuleBook::ReleaseAfter(const std::string& day) const {
  for (size_t i = 0; i < releases_.size(); ++i) {
    if (cuts_[i] >= day) return releases_[i];  // days are written year first
  }
  throw std::runtime_error("no release was cut after " + day);
}

std::optional<RuleBook::Entry> RuleBook::Rule(const std::string& key,
                                              const EngineVersion& version) const {
  const YAML::Node rules = document_["rules"];
  if (!rules || !rules.IsMap() || !rules[key]) return std::nullopt;
  std::optional<Entry> found;
  for (const YAML::Node& node : rules[key]) {
    if (!node.IsMap() || (!node["since"] && !node["merged"])) {
      throw std::runtime_error("expected {since or merged, value, evidence, source}");
    }
    const std::string since = node["since"] ? node["since"].as<std::string>()
                                            : ReleaseAfter(node["merged"].as<std::string>());
    const std::optional<EngineVersion> from = ParseVersion(since);
    if (!from) throw std::runtime_error("expected a version, found '" + since + "'");
    if (found && *ParseVersion(found->since) >= *from && *from <= version) {
      throw std::runtime_error("expected entries in rising order, found " + since);
    }
    // Assigning to a node would change the document.
    if (*from <= version) found.emplace(Entry{node, since});
  }
  return found;
}

std::optional<RuleBook::Entry> RuleBook::FirstWith(const std::string& architecture) const {
  const YAML::Node classes = document_["architectures"];
  if (!classes || !classes.IsMap() || !classes[architecture]) return std::nullopt;
  const YAML::Node node = classes[architecture];
  if (!node.IsMap() || !node["since"]) return std::nullopt;
  return Entry{node, node["since"].as<std::string>("")};
}

YAML::Node RuleBook::Memory(const std::string& key) const {
  const YAML::Node memory = document_["memory"];
  if (!memory || !memory.IsMap()) return YAML::Node(YAML::NodeType::Undefined);
  return memory[key];
}

}  // namespace shardplan
