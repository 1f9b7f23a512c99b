#include "report/wide_table.h"

#include <algorithm>
#include <utility>

#include "report/table.h"
#include "report/text.h"

namespace shardplan {

void WideTable::AddRow(std::string label, std::vector<std::string> cells) {
  cells.resize(columns_);
  rows_.push_back({false, std::move(label), std::move(cells)});
}

void WideTable::AddHeading(std::string text) { rows_.push_back({true, std::move(text), {}}); }

std::string WideTable::Render(size_t width) const {
  constexpr size_t kIndent = 2;
  constexpr size_t kGap = 2;
  size_t label = 0;
  std::vector<size_t> widths(columns_);
  for (const Row& row : rows_) {
    if (row.heading) continue;
    label = std::max(label, DisplayWidth(row.label));
    for (size_t i = 0; i < columns_; ++i) {
      widths[i] = std::max(widths[i], DisplayWidth(row.cells[i]));
    }
  }
  std::string out;
  for (size_t begin = 0; begin < columns_;) {
    size_t end = begin;
    size_t used = kIndent + label;
    while (end < columns_ && (end == begin || used + kGap + widths[end] <= width)) {
      used += kGap + widths[end++];
    }
    std::vector<Align> aligns(end - begin + 1, Align::kRight);
    aligns[0] = Align::kLeft;
    TextTable block(std::move(aligns), kIndent);
    for (const Row& row : rows_) {
      if (row.heading) {
        block.AddHeading(row.label);
        continue;
      }
      std::vector<std::string> cells = {row.label};
      cells.insert(cells.end(), row.cells.begin() + static_cast<ptrdiff_t>(begin),
                   row.cells.begin() + static_cast<ptrdiff_t>(end));
      block.AddRow(std::move(cells));
    }
    if (begin > 0) out += '\n';
    out += block.Render(width);
    begin = end;
  }
  return out;
}

}  // namespace shardplan
