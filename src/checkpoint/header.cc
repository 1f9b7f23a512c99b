#include "checkpoint/header.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "checkpoint/interner.h"
#include "checkpoint/json_input.h"
#include "checkpoint/name_table.h"
#include "checkpoint/pattern_interner.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr std::string_view kWhat = "a JSON header";
constexpr std::string_view kCorrupt = "the file is corrupt; fetch it again";

class HeaderParser {
 public:
  HeaderParser(const std::string& path, const PaddedText& text, Bytes payload)
      : path_(path), text_(text), payload_(payload) {}

  Result<ParsedHeader> Parse();

 private:
  Status ReadMetadata(ondemand::value value);
  Status ReadTensor(std::string_view name, ondemand::value value);
  Status ReadDType(ondemand::value value, std::optional<DType>* dtype);
  Status ReadShape(ondemand::value value);
  Status ReadOffsets(ondemand::value value, TensorRecord* record);
  Status CheckSize(const TensorRecord& record);
  Status CheckNames();
  Status CheckOffsets();

  tl::unexpected<Error> Malformed(simdjson::error_code code) {
    return MalformedJson(path_, kWhat, code, text_, &document_);
  }
  tl::unexpected<Error> Fault(std::string message) const {
    return Fail(ErrorCode::kInvalidInput, Printable(path_), std::move(message),
                std::string(kCorrupt));
  }
  tl::unexpected<Error> TensorFault(std::string_view name, std::string_view message) const {
    return Fault(fmt::format("tensor {}: {}", Printable(name), message));
  }
  std::string NameOf(const TensorRecord& record) const {
    return JoinTensorName(patterns_[record.pattern], record.indices);
  }

  const std::string& path_;
  const PaddedText& text_;
  const Bytes payload_;
  ondemand::parser parser_;
  ondemand::document document_;
  PatternInterner patterns_;
  Interner shapes_;  // the dimensions' bytes
  std::vector<TensorRecord> tensors_;
  // Of the tensor being read.
  std::string_view name_;
  Shape shape_;
};

Status HeaderParser::ReadMetadata(ondemand::value value) {
  const auto bad = [&] {
    return Fault("expected __metadata__ to map strings to strings, found something else in it");
  };
  ondemand::object object;
  if (const auto code = value.get_object().get(object)) {
    return code == simdjson::INCORRECT_TYPE ? bad() : Malformed(code);
  }
  for (auto result : object) {
    ondemand::field field;
    if (const auto code = std::move(result).get(field)) return Malformed(code);
    std::string_view text;
    if (const auto code = KeyOf(field, &text)) return Malformed(code);
    if (const auto code = StringOf(field.value(), &text)) {
      return code == simdjson::INCORRECT_TYPE ? bad() : Malformed(code);
    }
  }
  return {};
}

Status HeaderParser::ReadDType(ondemand::value value, std::optional<DType>* dtype) {
  std::string_view text;
  if (const auto code = StringOf(value, &text)) {
    if (code != simdjson::INCORRECT_TYPE) return Malformed(code);
    return TensorFault(name_, fmt::format("expected dtype to be a string, found {}",
                                          Printable(TokenOf(value), 40)));
  }
  *dtype = ParseDType(text);
  if (!*dtype) {
    return Fail(ErrorCode::kInvalidInput, Printable(path_),
                fmt::format("tensor {}: expected a dtype that safetensors knows (BF16, F8_E4M3, F4 "
                            "…), found {}",
                            Printable(name_), Printable(text, 40)),
                "the file is corrupt, or newer than this program");
  }
  return {};
}

Status HeaderParser::ReadShape(ondemand::value value) {
  shape_.dims.clear();
  ondemand::array array;
  if (const auto code = value.get_array().get(array)) {
    if (code != simdjson::INCORRECT_TYPE) return Malformed(code);
    return TensorFault(name_, fmt::format("expected shape to be an array, found {}",
                                          Printable(TokenOf(value), 40)));
  }
  for (auto result : array) {
    ondemand::value element;
    if (const auto code = std::move(result).get(element)) return Malformed(code);
    int64_t dim = 0;
    if (NaturalOf(element, &dim) != simdjson::SUCCESS) {
      return TensorFault(
          name_, fmt::format("expected dimensions to be integers from 0 to 2^63 - 1, found {}",
                             Printable(TokenOf(element), 40)));
    }
    shape_.dims.push_back(dim);
  }
  return {};
}

Status HeaderParser::ReadOffsets(ondemand::value value, TensorRecord* record) {
  const auto bad = [&](ondemand::value& found) {
    return TensorFault(name_, fmt::format("expected data_offsets to be two integers from 0 to 2^63 "
                                          "- 1, found {}",
                                          Printable(TokenOf(found), 40)));
  };
  ondemand::array array;
  if (const auto code = value.get_array().get(array)) {
    return code == simdjson::INCORRECT_TYPE ? bad(value) : Malformed(code);
  }
  int64_t offsets[2] = {};
  size_t count = 0;
  for (auto result : array) {
    ondemand::value element;
    if (const auto code = std::move(result).get(element)) return Malformed(code);
    int64_t offset = 0;
    if (NaturalOf(element, &offset) != simdjson::SUCCESS) return bad(element);
    if (count < 2) offsets[count] = offset;
    ++count;
  }
  if (count != 2) {
    return TensorFault(name_, fmt::format("expected 2 data_offsets, found {}", count));
  }
  record->begin = offsets[0];
  record->end = offsets[1];
  if (record->end < record->begin) {
    return TensorFault(name_, fmt::format("expected data_offsets in order, found [{}, {}]",
                                          record->begin, record->end));
  }
  return {};
}

Status HeaderParser::CheckSize(const TensorRecord& record) {
  std::optional<Bytes> size;
  try {
    size = SizeOf(record.dtype, shape_);
  } catch (const SizeOverflow&) {
    return TensorFault(
        name_, fmt::format("shape {} of {} does not fit in 64 bits", Printable(shape_.ToString()),
                           shardplan::NameOf(record.dtype)));
  }
  if (!size) {
    return TensorFault(name_, fmt::format("expected whole bytes, found shape {} of {} ({} bits an "
                                          "element)",
                                          Printable(shape_.ToString()),
                                          shardplan::NameOf(record.dtype), BitsOf(record.dtype)));
  }
  if (size->count() != record.end - record.begin) {
    return TensorFault(
        name_, fmt::format("shape {} of {} takes {} bytes, its data_offsets [{}, {}] span {}",
                           Printable(shape_.ToString()), shardplan::NameOf(record.dtype),
                           size->count(), record.begin, record.end, record.end - record.begin));
  }
  return {};
}

Status HeaderParser::ReadTensor(std::string_view name, ondemand::value value) {
  name_ = name;
  ondemand::object object;
  if (const auto code = value.get_object().get(object)) {
    if (code != simdjson::INCORRECT_TYPE) return Malformed(code);
    return TensorFault(
        name, fmt::format("expected an object with dtype, shape and data_offsets, found {}",
                          Printable(TokenOf(value), 40)));
  }
  TensorRecord record;
  std::optional<DType> dtype;
  bool has_dtype = false;
  bool has_shape = false;
  bool has_offsets = false;
  for (auto result : object) {
    ondemand::field field;
    if (const auto code = std::move(result).get(field)) return Malformed(code);
    std::string_view key;
    if (const auto code = KeyOf(field, &key)) return Malformed(code);
    bool* seen = key == "dtype"          ? &has_dtype
                 : key == "shape"        ? &has_shape
                 : key == "data_offsets" ? &has_offsets
                                         : nullptr;
    if (seen == nullptr) {
      return TensorFault(name, fmt::format("expected dtype, shape and data_offsets only, found {}",
                                           Printable(key, 40)));
    }
    if (std::exchange(*seen, true)) {
      return TensorFault(name, fmt::format("expected {} once, found it again", key));
    }
    if (seen == &has_dtype) {
      SHARDPLAN_RETURN_IF_ERROR(ReadDType(field.value(), &dtype));
    } else if (seen == &has_shape) {
      SHARDPLAN_RETURN_IF_ERROR(ReadShape(field.value()));
    } else {
      SHARDPLAN_RETURN_IF_ERROR(ReadOffsets(field.value(), &record));
    }
  }
  if (!has_dtype || !has_shape || !has_offsets) {
    return TensorFault(name, fmt::format("expected dtype, shape and data_offsets, found no {}",
                                         !has_dtype   ? "dtype"
                                         : !has_shape ? "shape"
                                                      : "data_offsets"));
  }
  record.dtype = *dtype;
  SHARDPLAN_RETURN_IF_ERROR(CheckSize(record));
  record.pattern = patterns_.Intern(name, &record.indices);
  record.shape = shapes_.Intern({reinterpret_cast<const char*>(shape_.dims.data()),
                                 shape_.dims.size() * sizeof(shape_.dims[0])});
  tensors_.push_back(record);
  return {};
}

Status HeaderParser::CheckNames() {
  NameTable table(tensors_.size());
  const std::span<const TensorRecord> records = tensors_;
  for (uint32_t i = 0; i < tensors_.size(); ++i) {
    if (table.Insert(records, i) != NameTable::kNone) {
      return TensorFault(NameOf(tensors_[i]), "expected once, found twice in this header");
    }
  }
  return {};
}

// The tensors must tile the payload: in the order of their offsets, each begins where the one
// before it ends. The order of the header's keys is free.
Status HeaderParser::CheckOffsets() {
  const auto by_offset = [](const TensorRecord& a, const TensorRecord& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  };
  if (!std::is_sorted(tensors_.begin(), tensors_.end(), by_offset)) {
    std::stable_sort(tensors_.begin(), tensors_.end(), by_offset);
  }
  int64_t expected = 0;
  for (const TensorRecord& record : tensors_) {
    if (record.begin != expected) {
      return TensorFault(NameOf(record),
                         fmt::format("expected its data to begin at {}, found {}: the payload has "
                                     "{}",
                                     expected, record.begin,
                                     record.begin > expected ? "a hole" : "tensors that overlap"));
    }
    expected = record.end;
  }
  if (expected != payload_.count()) {
    return Fail(ErrorCode::kInvalidInput, Printable(path_),
                fmt::format("expected {} of payload, found {}", FormatBytes(Bytes(expected)),
                            FormatBytes(payload_)),
                expected > payload_.count() ? "the file is truncated; fetch it again"
                                            : std::string(kCorrupt));
  }
  return {};
}

Result<ParsedHeader> HeaderParser::Parse() {
  SHARDPLAN_ASSIGN_OR_RETURN(ondemand::object root,
                             OpenJsonObject(path_, kWhat, text_, parser_, document_));
  constexpr size_t kTypicalEntry = 150;  // bytes of header text a tensor
  tensors_.reserve(text_.view().size() / kTypicalEntry);
  bool has_metadata = false;
  for (auto result : root) {
    ondemand::field field;
    if (const auto code = std::move(result).get(field)) return Malformed(code);
    std::string_view name;
    if (const auto code = KeyOf(field, &name)) return Malformed(code);
    if (name == "__metadata__") {
      if (std::exchange(has_metadata, true)) {
        return Fault("expected __metadata__ once, found it twice");
      }
      SHARDPLAN_RETURN_IF_ERROR(ReadMetadata(field.value()));
    } else {
      SHARDPLAN_RETURN_IF_ERROR(ReadTensor(name, field.value()));
    }
  }
  SHARDPLAN_RETURN_IF_ERROR(FinishJson(path_, kWhat, document_));
  SHARDPLAN_RETURN_IF_ERROR(CheckNames());
  SHARDPLAN_RETURN_IF_ERROR(CheckOffsets());

  ParsedHeader header;
  header.tensors = std::move(tensors_);
  header.patterns = patterns_.Take();
  for (const std::string& bytes : shapes_.Take()) {
    Shape& shape = header.shapes.emplace_back();
    shape.dims.resize(bytes.size() / sizeof(int64_t));
    if (!bytes.empty()) std::memcpy(shape.dims.data(), bytes.data(), bytes.size());
  }
  return header;
}

}  // namespace

Result<ParsedHeader> ParseHeader(const std::string& path, const PaddedText& text, Bytes payload) {
  return HeaderParser(path, text, payload).Parse();
}

}  // namespace shardplan
