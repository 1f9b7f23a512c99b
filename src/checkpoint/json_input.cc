#include "checkpoint/json_input.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <utility>

#include "shardplan/base/file.h"

namespace shardplan {
namespace {

namespace ondemand = simdjson::ondemand;

static_assert(PaddedText::kPadding >= simdjson::SIMDJSON_PADDING);

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kCorrupt = "the file is corrupt; fetch it again";

// The text from `begin` to the closing quote when it needs no unescaping. The first pass of
// simdjson has refused unclosed strings, so the quote is there, well before the bound.
bool PlainString(const char* begin, std::string_view* out) {
  const auto* end =
      static_cast<const char*>(std::memchr(begin, '"', simdjson::SIMDJSON_MAXSIZE_BYTES));
  const auto size = static_cast<size_t>(end - begin);
  if (std::memchr(begin, '\\', size) != nullptr) return false;
  *out = {begin, size};
  return true;
}

std::string CharText(char c) {
  if (c > 0x20 && c < 0x7f) return fmt::format("'{}'", c);
  return fmt::format("byte 0x{:02x}", static_cast<unsigned char>(c));
}

// What is wrong with a text that cannot be an object by its outermost characters; empty for
// nothing. simdjson sees that too, but cannot say it as well.
std::string OuterFault(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return "nothing but blanks";
  if (text[first] != '{') return "text that begins with " + CharText(text[first]);
  const char last = text[text.find_last_not_of(kBlanks)];
  if (last != '}') return fmt::format("text that ends with {} instead of '}}'", CharText(last));
  return "";
}

std::string_view Describe(simdjson::error_code code) {
  switch (code) {
    case simdjson::UTF8_ERROR:
      return "text that is not UTF-8";
    case simdjson::UNESCAPED_CHARS:
      return "a control character inside a string";
    case simdjson::UNCLOSED_STRING:
      return "a string without an end";
    case simdjson::STRING_ERROR:
      return "a string with a bad escape";
    case simdjson::DEPTH_ERROR:
      return "JSON nested too deeply";
    default:
      return "malformed JSON";
  }
}

}  // namespace

Result<ondemand::object> OpenJsonObject(const std::string& path, std::string_view what,
                                        const PaddedText& text, ondemand::parser& parser,
                                        ondemand::document& document) {
  const std::string_view view = text.view();
  if (const std::string fault = OuterFault(view); !fault.empty()) {
    return Fail(ErrorCode::kInvalidInput, Printable(path),
                fmt::format("expected {}, found {}", what, fault), std::string(kCorrupt));
  }
  if (const auto code = parser.iterate(view.data(), view.size(), view.size() + PaddedText::kPadding)
                            .get(document)) {
    return MalformedJson(path, what, code, text, nullptr);
  }
  ondemand::object root;
  if (const auto code = document.get_object().get(root)) {
    return MalformedJson(path, what, code, text, &document);
  }
  return root;
}

Status FinishJson(const std::string& path, std::string_view what, ondemand::document& document) {
  // There is a place to point at unless everything has been read.
  const char* rest = nullptr;
  if (document.current_location().get(rest) == simdjson::OUT_OF_BOUNDS) return {};
  return Fail(ErrorCode::kInvalidInput, Printable(path),
              fmt::format("expected {}, found more text after its closing brace", what),
              std::string(kCorrupt));
}

tl::unexpected<Error> MalformedJson(const std::string& path, std::string_view what,
                                    simdjson::error_code code, const PaddedText& text,
                                    ondemand::document* document) {
  if (code == simdjson::MEMALLOC || code == simdjson::CAPACITY) {
    return Fail(ErrorCode::kIo, Printable(path),
                fmt::format("not enough memory to read {} of {} bytes", what, text.view().size()));
  }
  std::string place;
  const char* at = nullptr;
  if (document != nullptr && document->current_location().get(at) == simdjson::SUCCESS) {
    const auto offset = at - text.view().data();
    if (offset >= 0 && static_cast<size_t>(offset) <= text.view().size()) {
      place = fmt::format(" near byte {}", offset);
    }
  }
  return Fail(ErrorCode::kInvalidInput, Printable(path),
              fmt::format("expected {}, found {}{}", what, Describe(code), place),
              std::string(kCorrupt));
}

simdjson::error_code KeyOf(ondemand::field& field, std::string_view* out) {
  if (PlainString(field.key().raw(), out)) return simdjson::SUCCESS;
  return field.unescaped_key().get(*out);
}

simdjson::error_code StringOf(ondemand::value& value, std::string_view* out) {
  const std::string_view token = value.raw_json_token();
  if (token.empty() || token[0] != '"') return simdjson::INCORRECT_TYPE;
  if (!PlainString(token.data() + 1, out)) return value.get_string().get(*out);
  ondemand::raw_json_string consumed;
  return value.get_raw_json_string().get(consumed);
}

std::string_view TokenOf(ondemand::value& value) {
  std::string_view token = value.raw_json_token();
  const size_t last = token.find_last_not_of(kBlanks);
  return token.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

simdjson::error_code NaturalOf(ondemand::value& value, int64_t* out) {
  uint64_t number = 0;
  if (value.get_uint64().get(number) != simdjson::SUCCESS) return simdjson::INCORRECT_TYPE;
  if (number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return simdjson::INCORRECT_TYPE;
  }
  *out = static_cast<int64_t>(number);
  return simdjson::SUCCESS;
}

simdjson::error_code Skip(ondemand::value value, int depth) {
  if (depth <= 0) return simdjson::DEPTH_ERROR;
  ondemand::json_type type;
  if (const auto code = value.type().get(type)) return code;
  switch (type) {
    case ondemand::json_type::object: {
      ondemand::object object;
      if (const auto code = value.get_object().get(object)) return code;
      for (auto result : object) {
        ondemand::field field;
        if (const auto code = std::move(result).get(field)) return code;
        std::string_view key;
        if (const auto code = KeyOf(field, &key)) return code;
        if (const auto code = Skip(field.value(), depth - 1)) return code;
      }
      return simdjson::SUCCESS;
    }
    case ondemand::json_type::array: {
      ondemand::array array;
      if (const auto code = value.get_array().get(array)) return code;
      for (auto result : array) {
        ondemand::value element;
        if (const auto code = std::move(result).get(element)) return code;
        if (const auto code = Skip(element, depth - 1)) return code;
      }
      return simdjson::SUCCESS;
    }
    case ondemand::json_type::string: {
      std::string_view text;
      return StringOf(value, &text);
    }
    case ondemand::json_type::number: {
      double number;
      return value.get_double().get(number);
    }
    case ondemand::json_type::boolean: {
      bool truth;
      return value.get_bool().get(truth);
    }
    case ondemand::json_type::null: {
      bool null = false;
      if (const auto code = value.is_null().get(null)) return code;
      return null ? simdjson::SUCCESS : simdjson::TAPE_ERROR;
    }
  }
  return simdjson::TAPE_ERROR;
}

}  // namespace shardplan
