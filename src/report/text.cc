#include "report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "shardplan/base/units.h"

namespace shardplan {
namespace {

// The length of the character at the start of `text` and its code point. What is not UTF-8 is a
// character of one byte: Printable() has removed it from everything that is shown.
size_t CharacterLength(std::string_view text, uint32_t* code) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  *code = byte(0);
  const size_t length = byte(0) < 0xc0 ? 1 : byte(0) < 0xe0 ? 2 : byte(0) < 0xf0 ? 3 : 4;
  if (length == 1 || length > text.size()) return 1;
  uint32_t value = byte(0) & (0xffU >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 1;
    value = (value << 6) | (byte(i) & 0x3fU);
  }
  *code = value;
  return length;
}

// Blocks that East_Asian_Width calls wide, and emoji.
constexpr std::array<std::pair<uint32_t, uint32_t>, 11> kWide = {{{0x1100, 0x115f},
                                                                  {0x2e80, 0x303e},
                                                                  {0x3041, 0xa4cf},
                                                                  {0xa960, 0xa97c},
                                                                  {0xac00, 0xd7a3},
                                                                  {0xf900, 0xfaff},
                                                                  {0xfe30, 0xfe6f},
                                                                  {0xff00, 0xff60},
                                                                  {0xffe0, 0xffe6},
                                                                  {0x1f300, 0x1faff},
                                                                  {0x20000, 0x3fffd}}};
constexpr std::array<std::pair<uint32_t, uint32_t>, 7> kZeroWidth = {{{0x0300, 0x036f},
                                                                      {0x0483, 0x0489},
                                                                      {0x0591, 0x05bd},
                                                                      {0x200b, 0x200d},
                                                                      {0x20d0, 0x20ff},
                                                                      {0xfe00, 0xfe0f},
                                                                      {0xfeff, 0xfeff}}};

size_t WidthOf(uint32_t code) {
  const auto holds = [code](const auto& range) {
    return code >= range.first && code <= range.second;
  };
  if (std::any_of(kZeroWidth.begin(), kZeroWidth.end(), holds)) return 0;
  return std::any_of(kWide.begin(), kWide.end(), holds) ? 2 : 1;
}

// How many bytes of `text` fit in `width` columns; at least one character.
size_t Fitting(std::string_view text, size_t width) {
  size_t taken = 0;
  size_t columns = 0;
  while (taken < text.size()) {
    uint32_t code = 0;
    const size_t length = CharacterLength(text.substr(taken), &code);
    columns += WidthOf(code);
    if (columns > width && taken > 0) break;
    taken += length;
  }
  return taken;
}

}  // namespace

size_t DisplayWidth(std::string_view text) {
  size_t width = 0;
  while (!text.empty()) {
    uint32_t code = 0;
    const size_t length = CharacterLength(text, &code);
    width += WidthOf(code);
    text.remove_prefix(length);
  }
  return width;
}

std::string PadLeft(std::string_view text, size_t width) {
  const size_t have = DisplayWidth(text);
  return std::string(have < width ? width - have : 0, ' ').append(text);
}

std::string PadRight(std::string_view text, size_t width) {
  const size_t have = DisplayWidth(text);
  return std::string(text).append(have < width ? width - have : 0, ' ');
}

std::vector<std::string> WrapLines(std::string_view text, size_t width, size_t indent,
                                   size_t hanging) {
  std::vector<std::string> lines;
  std::string line(indent, ' ');
  bool empty = true;
  const auto flush = [&] {
    lines.push_back(std::exchange(line, std::string(hanging, ' ')));
    empty = true;
  };
  while (true) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    if (text.empty()) break;
    std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(word.size());
    if (!empty && DisplayWidth(line) + 1 + DisplayWidth(word) > width) flush();
    if (!empty) line += ' ';
    while (true) {
      const size_t used = DisplayWidth(line);
      const size_t fitting = Fitting(word, width > used ? width - used : 1);
      line += word.substr(0, fitting);
      word.remove_prefix(fitting);
      empty = false;
      if (word.empty()) break;
      flush();
    }
  }
  if (!empty) lines.push_back(std::move(line));
  return lines;
}

std::string Wrap(std::string_view text, size_t width, size_t indent, size_t hanging) {
  std::string out;
  for (const std::string& line : WrapLines(text, width, indent, hanging)) out += line + "\n";
  return out;
}

std::string FormatRuns(const std::vector<int64_t>& numbers) {
  std::string out;
  for (size_t i = 0; i < numbers.size();) {
    size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (!out.empty()) out += ", ";
    out += std::to_string(numbers[i]);
    if (last > i) out += (last > i + 1 ? "–" : ", ") + std::to_string(numbers[last]);
    i = last + 1;
  }
  return out;
}

std::string Plural(int64_t count, std::string_view singular, std::string_view plural) {
  return fmt::format("{} {}", FormatCount(count), count == 1 ? singular : plural);
}

std::string FormatTimes(double value) { return fmt::format("{:.2f}×", value); }

std::string FormatSeconds(double seconds) {
  if (!(seconds > 0)) return "0 s";
  if (seconds < 0.9995e-3) return fmt::format("{:.3g} µs", seconds * 1e6);
  if (seconds < 0.9995) return fmt::format("{:.3g} ms", seconds * 1e3);
  if (seconds < 59.95) return fmt::format("{:.3g} s", seconds);
  constexpr int64_t kMinute = 60;
  constexpr double kMost = 1e12;
  const auto whole = static_cast<int64_t>(std::min(seconds, kMost) + 0.5);
  const int64_t minutes = whole / kMinute;
  if (minutes < kMinute) return fmt::format("{} min {} s", minutes, whole % kMinute);
  return fmt::format("{} h {} min", minutes / kMinute, minutes % kMinute);
}

std::string Bar(double share, size_t width) {
  constexpr std::array<std::string_view, 8> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double all = static_cast<double>(8 * width);
  const auto eighths = static_cast<size_t>(std::lround(std::clamp(share, 0.0, 1.0) * all));
  std::string bar;
  for (size_t i = 0; i < eighths / 8; ++i) bar += "█";
  return bar.append(kEighths[eighths % 8]);
}

}  // namespace shardplan
