#include "report/table.h"

#include <algorithm>
#include <utility>

#include "report/text.h"

namespace shardplan {
namespace {

constexpr size_t kGap = 2;
constexpr size_t kNarrowest = 12;  // of a wrapped column

void AppendTrimmed(std::string line, std::string* out) {
  const size_t end = line.find_last_not_of(' ');
  line.resize(end == std::string::npos ? 0 : end + 1);
  *out += line + "\n";
}

}  // namespace

void TextTable::AddRow(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  rows_.push_back({false, std::move(cells)});
}

void TextTable::AddHeading(std::string text) { rows_.push_back({true, {std::move(text)}}); }

std::vector<size_t> TextTable::Widths() const {
  std::vector<size_t> widths(columns_.size());
  for (const Row& row : rows_) {
    if (row.heading) continue;
    for (size_t i = 0; i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], DisplayWidth(row.cells[i]));
    }
  }
  return widths;
}

size_t TextTable::NaturalWidth() const {
  size_t total = indent_;
  for (const size_t width : Widths()) total += width + kGap;
  return total - kGap;
}

std::string TextTable::Render(size_t width) const {
  std::vector<size_t> widths = Widths();
  const size_t natural = NaturalWidth();
  if (natural > width && columns_.back() == Align::kLeft) {
    const size_t excess = natural - width;
    size_t& last = widths.back();
    last = std::min(last, std::max(kNarrowest, last > excess ? last - excess : 0));
  }
  std::string out;
  for (const Row& row : rows_) {
    if (row.heading) {
      AppendTrimmed(std::string(indent_ - std::min(indent_, kGap), ' ') + row.cells[0], &out);
      continue;
    }
    std::string line(indent_, ' ');
    for (size_t i = 0; i + 1 < widths.size(); ++i) {
      line += columns_[i] == Align::kLeft ? PadRight(row.cells[i], widths[i])
                                          : PadLeft(row.cells[i], widths[i]);
      line.append(kGap, ' ');
    }
    if (columns_.back() == Align::kRight) {
      AppendTrimmed(line + PadLeft(row.cells.back(), widths.back()), &out);
      continue;
    }
    const size_t start = DisplayWidth(line);
    if (DisplayWidth(row.cells.back()) <= widths.back()) {  // spaces of its own stay
      AppendTrimmed(line + row.cells.back(), &out);
      continue;
    }
    const std::vector<std::string> wrapped = WrapLines(row.cells.back(), widths.back(), 0, 0);
    AppendTrimmed(line + (wrapped.empty() ? "" : wrapped[0]), &out);
    for (size_t i = 1; i < wrapped.size(); ++i) {
      AppendTrimmed(std::string(start, ' ') + wrapped[i], &out);
    }
  }
  return out;
}

std::string RenderFacts(const std::vector<std::pair<std::string, std::string>>& facts,
                        size_t width) {
  TextTable table({Align::kLeft, Align::kLeft});
  for (const auto& [label, text] : facts) table.AddRow({label, text});
  return table.Render(width);
}

}  // namespace shardplan
