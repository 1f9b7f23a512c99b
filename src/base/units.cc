#include "shardplan/base/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "shardplan/base/file.h"

namespace shardplan {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array<Unit, 10> kByteUnits = {{{"B", 1.0},
                                              {"KiB", double{kKiB}},
                                              {"MiB", double{kMiB}},
                                              {"GiB", double{kGiB}},
                                              {"TiB", double{kTiB}},
                                              {"kB", 1e3},
                                              {"KB", 1e3},
                                              {"MB", 1e6},
                                              {"GB", 1e9},
                                              {"TB", 1e12}}};

constexpr std::array<Unit, 9> kTokenUnits = {{{"", 1.0},
                                              {"k", 1e3},
                                              {"m", 1e6},
                                              {"g", 1e9},
                                              {"t", 1e12},
                                              {"K", double{kKiB}},
                                              {"M", double{kMiB}},
                                              {"G", double{kGiB}},
                                              {"T", double{kTiB}}}};

constexpr double kTwoTo63 = 9223372036854775808.0;

// Truncates; throws where the result leaves 64 bits, which a cast would leave undefined.
int64_t ToInteger(double value) {
  if (!(value > -kTwoTo63 && value < kTwoTo63)) throw SizeOverflow();
  return static_cast<int64_t>(value);
}

// Splits "25.6 k" into its number and its unit. The number is plain decimal: no sign, no exponent.
bool SplitNumber(std::string_view text, std::string_view* number, std::string_view* unit) {
  size_t end = text.find_first_not_of("0123456789.");
  if (end == std::string_view::npos) end = text.size();
  *number = text.substr(0, end);
  while (end < text.size() && text[end] == ' ') ++end;
  *unit = text.substr(end);
  return !number->empty();
}

enum class Rounding { kNearest, kTruncate };

// number × factor, or nothing where that leaves 64 bits. Exact for whole numbers, so that 2^53 and
// above survive. Requires a number of the form SplitNumber leaves, checked by IsNumber.
std::optional<int64_t> Scale(std::string_view number, double factor, Rounding rounding) {
  int64_t whole = 0;
  const char* const stop = number.data() + number.size();
  if (const auto [end, error] = std::from_chars(number.data(), stop, whole);
      error == std::errc() && end == stop) {
    int64_t out = 0;
    if (__builtin_mul_overflow(whole, static_cast<int64_t>(factor), &out)) return std::nullopt;
    return out;
  }
  double value = 0;
  if (std::from_chars(number.data(), stop, value).ec != std::errc()) return std::nullopt;
  const double scaled = value * factor;
  if (scaled >= kTwoTo63) return std::nullopt;
  return static_cast<int64_t>(rounding == Rounding::kNearest ? std::round(scaled) : scaled);
}

// Digits with at most one point, and a digit before it: "25", "25.6".
bool IsNumber(std::string_view number) {
  return !number.empty() && number.front() != '.' && number.back() != '.' &&
         std::count(number.begin(), number.end(), '.') <= 1;
}

std::string Grouped(int64_t value) {
  std::string digits = std::to_string(value);
  const size_t start = digits[0] == '-' ? 1 : 0;
  for (size_t i = digits.size(); i > start + 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

// "1,453.735": a fixed number of decimals with grouped thousands.
std::string GroupedDecimal(double value, int decimals) {
  std::string text = fmt::format("{:.{}f}", value, decimals);
  // "-0.000" would be a shortfall of nothing.
  if (text[0] == '-' && text.find_first_not_of("-0.") == std::string::npos) text.erase(0, 1);
  size_t point = text.find('.');
  if (point == std::string::npos) point = text.size();
  const size_t start = text[0] == '-' ? 1 : 0;
  for (size_t i = point; i > start + 3; i -= 3) text.insert(i - 3, ",");
  return text;
}

}  // namespace

Bytes Gigabytes::ToBytes() const { return Bytes(ToInteger(std::round(value_ * 1e9))); }
Bytes Gibibytes::ToBytes() const { return Bytes(ToInteger(value_ * double{kGiB})); }

Gibibytes InGiB(Bytes size) { return Gibibytes(static_cast<double>(size.count()) / double{kGiB}); }
Gigabytes InGB(Bytes size) { return Gigabytes(static_cast<double>(size.count()) / 1e9); }

std::string FormatGiB(Bytes size, int decimals) {
  return GroupedDecimal(InGiB(size).value(), decimals) + " GiB";
}
std::string FormatTiB(Bytes size, int decimals) {
  return GroupedDecimal(static_cast<double>(size.count()) / double{kTiB}, decimals) + " TiB";
}
std::string FormatMiB(Bytes size) {
  const bool whole = size.count() % kMiB == 0;
  return GroupedDecimal(static_cast<double>(size.count()) / double{kMiB}, whole ? 0 : 1) + " MiB";
}
std::string FormatBytes(Bytes size) { return Grouped(size.count()) + " B"; }
std::string FormatCount(int64_t count) { return Grouped(count); }

std::string FormatAuto(Bytes size) {
  const double magnitude = std::abs(static_cast<double>(size.count()));
  if (magnitude >= kGiB) return FormatGiB(size);
  if (magnitude >= kMiB) return FormatMiB(size);
  if (magnitude >= kKiB) {
    return fmt::format("{:.1f} KiB", static_cast<double>(size.count()) / double{kKiB});
  }
  return FormatBytes(size);
}

Result<Bytes> ParseBytes(std::string_view text) {
  const auto fail = [&](std::string message) {
    return Fail(ErrorCode::kUsage, Printable(text), std::move(message),
                "write a number and a unit, such as 32GiB or 32GB");
  };
  std::string_view number, unit;
  if (!SplitNumber(text, &number, &unit) || !IsNumber(number)) return fail("expected a byte size");
  if (unit.empty()) return fail("the byte size has no unit");
  for (const Unit& candidate : kByteUnits) {
    if (candidate.name != unit) continue;
    const std::optional<int64_t> count = Scale(number, candidate.factor, Rounding::kNearest);
    if (!count) return fail("the byte size does not fit in 64 bits");
    return Bytes(*count);
  }
  return fail("expected a byte size in B, KiB, MiB, GiB, TiB, kB, MB, GB or TB, found the unit " +
              Printable(unit, 16));
}

Result<int64_t> ParseTokenCount(std::string_view text) {
  const auto fail = [&](std::string message) {
    return Fail(ErrorCode::kUsage, Printable(text), std::move(message),
                "write a plain number, or one like 512K (524,288) or 512k (512,000)");
  };
  std::string_view number, unit;
  if (!SplitNumber(text, &number, &unit) || !IsNumber(number)) {
    return fail("expected a number of tokens");
  }
  for (const Unit& candidate : kTokenUnits) {
    if (candidate.name != unit) continue;
    const bool decimal = !unit.empty() && unit[0] >= 'a';
    if (!decimal && number.find('.') != std::string_view::npos) {
      return fail(unit.empty()
                      ? "expected a whole number of tokens"
                      : "expected a whole number before the binary suffix " + std::string(unit));
    }
    const std::optional<int64_t> count = Scale(number, candidate.factor, Rounding::kTruncate);
    if (!count) return fail("the number of tokens does not fit in 64 bits");
    return *count;
  }
  return fail("expected a number of tokens, found the suffix " + Printable(unit, 16));
}

}  // namespace shardplan
