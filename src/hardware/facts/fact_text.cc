#include "hardware/facts/fact_text.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan::facts {
namespace {

constexpr std::string_view kSpaces = " \t\r\v\f";

// Without "\x1b[…m".
std::string WithoutEscapes(std::string_view line) {
  std::string out;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\x1b') {
      out += line[i];
      continue;
    }
    if (i + 1 >= line.size() || line[i + 1] != '[') continue;
    ++i;
    while (i + 1 < line.size() && !(line[i + 1] >= '@' && line[i + 1] <= '~')) ++i;
    ++i;
  }
  return out;
}

}  // namespace

std::vector<std::string> LinesOf(std::string_view text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(WithoutEscapes(line));
    begin = end + 1;
  }
  return lines;
}

std::string_view Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(kSpaces);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpaces) + 1 - begin);
}

std::vector<std::string> Split(std::string_view line, char separator) {
  std::vector<std::string> out;
  for (size_t begin = 0; begin <= line.size();) {
    const size_t end = std::min(line.find(separator, begin), line.size());
    out.emplace_back(Trim(line.substr(begin, end - begin)));
    begin = end + 1;
  }
  return out;
}

std::vector<std::string> Words(std::string_view line) {
  std::vector<std::string> out;
  for (size_t begin = line.find_first_not_of(kSpaces); begin != std::string_view::npos;) {
    const size_t end = std::min(line.find_first_of(kSpaces, begin), line.size());
    out.emplace_back(line.substr(begin, end - begin));
    begin = line.find_first_not_of(kSpaces, end);
  }
  return out;
}

std::optional<int> ParseInt(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.size() > 9 || value < 0) {
    return std::nullopt;
  }
  return value;
}

std::optional<Bytes> ParseSize(std::string_view text, int64_t unit) {
  const std::string_view number = Trim(text.substr(0, text.find_first_not_of("0123456789 \t")));
  int64_t count = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), count);
  // A petabyte in kB has twelve digits.
  if (error != std::errc() || end != number.data() + number.size() || number.size() > 12) {
    return std::nullopt;
  }
  const std::string_view name =
      Trim(text.substr(std::min(text.find_first_not_of("0123456789 \t"), text.size())));
  constexpr std::pair<std::string_view, int64_t> kUnits[] = {
      {"KiB", kKiB}, {"kB", kKiB}, {"MiB", kMiB}, {"MB", kMiB}, {"GiB", kGiB}, {"GB", kGiB}};
  if (!name.empty()) {
    unit = 0;
    for (const auto& [known, bytes] : kUnits) {
      if (name == known) unit = bytes;
    }
    if (unit == 0) return std::nullopt;
  }
  int64_t bytes = 0;
  if (__builtin_mul_overflow(count, unit, &bytes)) return std::nullopt;
  return Bytes(bytes);
}

tl::unexpected<Error> FailAt(const std::string& file, size_t line, std::string message,
                             std::string hint) {
  return Fail(ErrorCode::kInvalidInput, fmt::format("{}:{}", Printable(file), line + 1),
              std::move(message), std::move(hint));
}

}  // namespace shardplan::facts
