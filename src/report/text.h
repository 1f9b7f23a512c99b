// Text that fits a terminal.
#ifndef SHARDPLAN_REPORT_TEXT_H_
#define SHARDPLAN_REPORT_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shardplan {

// Columns that UTF-8 text takes on a terminal: none for a combining mark, two for East Asian wide
// characters and emoji, one for the rest. Bytes that are not UTF-8 count as one each.
size_t DisplayWidth(std::string_view text);

std::string PadLeft(std::string_view text, size_t width);   // right-aligned
std::string PadRight(std::string_view text, size_t width);  // left-aligned

// Breaks one line of text at spaces into lines of at most `width` columns; a word that is longer
// than a line is cut. The first line is indented by `indent` spaces, the others by `hanging`.
std::vector<std::string> WrapLines(std::string_view text, size_t width, size_t indent,
                                   size_t hanging);

// The same as one text, every line ended by a newline.
std::string Wrap(std::string_view text, size_t width, size_t indent, size_t hanging);

// Sorted numbers in runs: "0–7, 16–23".
std::string FormatRuns(const std::vector<int64_t>& numbers);

// "1 node", "2 nodes"
std::string Plural(int64_t count, std::string_view singular, std::string_view plural);

// "2.36×": two decimals, as the engine prints its concurrency.
std::string FormatTimes(double value);

// "3.2 µs", "14 ms", "2.5 s", "2 min 7 s", "1 h 4 min": two or three digits that matter.
std::string FormatSeconds(double seconds);

// A bar of `width` columns for a share of one, to an eighth of a column.
std::string Bar(double share, size_t width);

}  // namespace shardplan

#endif  // SHARDPLAN_REPORT_TEXT_H_
