#include "checkpoint/index.h"

#include <fmt/format.h>

#include <span>
#include <utility>

#include "checkpoint/interner.h"
#include "checkpoint/json_input.h"
#include "checkpoint/name_table.h"
#include "checkpoint/pattern_interner.h"
#include "shardplan/base/file.h"

namespace shardplan {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr std::string_view kWhat = "a JSON index";
constexpr std::string_view kCorrupt = "the index is corrupt; fetch it again";

class IndexParser {
 public:
  IndexParser(const std::string& path, const PaddedText& text) : path_(path), text_(text) {}

  Result<ParsedIndex> Parse();

 private:
  Status ReadMetadata(ondemand::value value);
  Status ReadWeightMap(ondemand::value value);
  Status AddEntry(std::string_view name, std::string_view file);
  Status CheckNames();

  tl::unexpected<Error> Malformed(simdjson::error_code code) {
    return MalformedJson(path_, kWhat, code, text_, &document_);
  }
  tl::unexpected<Error> Fault(std::string message) const {
    return Fail(ErrorCode::kInvalidInput, Printable(path_), std::move(message),
                std::string(kCorrupt));
  }

  const std::string& path_;
  const PaddedText& text_;
  ondemand::parser parser_;
  ondemand::document document_;
  PatternInterner patterns_;
  Interner files_;
  ParsedIndex index_;
};

// Only total_size is read, and nothing in here is worth refusing a checkpoint for: the sum is
// compared with the headers, which know better.
Status IndexParser::ReadMetadata(ondemand::value value) {
  ondemand::json_type type;
  if (const auto code = value.type().get(type)) return Malformed(code);
  if (type != ondemand::json_type::object) {
    if (const auto code = Skip(value)) return Malformed(code);
    return {};
  }
  ondemand::object object;
  if (const auto code = value.get_object().get(object)) return Malformed(code);
  for (auto result : object) {
    ondemand::field field;
    if (const auto code = std::move(result).get(field)) return Malformed(code);
    std::string_view key;
    if (const auto code = KeyOf(field, &key)) return Malformed(code);
    if (key == "total_size") {
      int64_t size = 0;
      index_.total_size.reset();
      index_.bad_total_size.clear();
      if (NaturalOf(field.value(), &size) == simdjson::SUCCESS) {
        index_.total_size = size;
        continue;
      }
      index_.bad_total_size = Printable(TokenOf(field.value()), 40);
    }
    if (const auto code = Skip(field.value())) return Malformed(code);
  }
  return {};
}

Status IndexParser::AddEntry(std::string_view name, std::string_view file) {
  const size_t known = files_.size();
  IndexEntry entry;
  entry.shard = files_.Intern(file);
  if (files_.size() != known && !IsPlainFileName(file)) {
    return Fail(ErrorCode::kInvalidInput, Printable(path_),
                fmt::format("tensor {}: expected the plain name of a file in the same directory, "
                            "found '{}'",
                            Printable(name), Printable(file)),
                "an index must not point outside of its directory; do not trust this one");
  }
  entry.pattern = patterns_.Intern(name, &entry.indices);
  index_.entries.push_back(entry);
  return {};
}

Status IndexParser::ReadWeightMap(ondemand::value value) {
  ondemand::object object;
  if (const auto code = value.get_object().get(object)) {
    if (code != simdjson::INCORRECT_TYPE) return Malformed(code);
    return Fault(fmt::format("expected weight_map to be an object, found {}",
                             Printable(TokenOf(value), 40)));
  }
  constexpr size_t kTypicalEntry = 120;  // bytes of text a tensor
  index_.entries.reserve(text_.view().size() / kTypicalEntry);
  for (auto result : object) {
    ondemand::field field;
    if (const auto code = std::move(result).get(field)) return Malformed(code);
    std::string_view name;
    if (const auto code = KeyOf(field, &name)) return Malformed(code);
    std::string_view file;
    if (const auto code = StringOf(field.value(), &file)) {
      if (code != simdjson::INCORRECT_TYPE) return Malformed(code);
      return Fault(fmt::format("tensor {}: expected a file name, found {}", Printable(name),
                               Printable(TokenOf(field.value()), 40)));
    }
    SHARDPLAN_RETURN_IF_ERROR(AddEntry(name, file));
  }
  return {};
}

Status IndexParser::CheckNames() {
  NameTable table(index_.entries.size());
  const std::span<const IndexEntry> entries = index_.entries;
  for (uint32_t i = 0; i < entries.size(); ++i) {
    if (table.Insert(entries, i) == NameTable::kNone) continue;
    return Fault(
        fmt::format("tensor {}: expected once in weight_map, found twice",
                    Printable(JoinTensorName(patterns_[entries[i].pattern], entries[i].indices))));
  }
  return {};
}

Result<ParsedIndex> IndexParser::Parse() {
  SHARDPLAN_ASSIGN_OR_RETURN(ondemand::object root,
                             OpenJsonObject(path_, kWhat, text_, parser_, document_));
  bool has_map = false;
  for (auto result : root) {
    ondemand::field field;
    if (const auto code = std::move(result).get(field)) return Malformed(code);
    std::string_view key;
    if (const auto code = KeyOf(field, &key)) return Malformed(code);
    if (key == "weight_map") {
      if (std::exchange(has_map, true)) return Fault("expected weight_map once, found it twice");
      SHARDPLAN_RETURN_IF_ERROR(ReadWeightMap(field.value()));
    } else if (key == "metadata") {
      SHARDPLAN_RETURN_IF_ERROR(ReadMetadata(field.value()));
    } else if (const auto code = Skip(field.value())) {
      return Malformed(code);
    }
  }
  SHARDPLAN_RETURN_IF_ERROR(FinishJson(path_, kWhat, document_));
  if (!has_map) return Fault("expected a weight_map, found none");
  if (index_.entries.empty()) return Fault("expected tensors in weight_map, found none");
  SHARDPLAN_RETURN_IF_ERROR(CheckNames());
  index_.patterns = patterns_.Take();
  index_.shard_names = files_.Take();
  return std::move(index_);
}

}  // namespace

Result<ParsedIndex> ParseIndex(const std::string& path, const PaddedText& text) {
  return IndexParser(path, text).Parse();
}

bool IsPlainFileName(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\0", 2)) == std::string_view::npos;
}

}  // namespace shardplan
