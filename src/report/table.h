// Columns that line up.
#ifndef SHARDPLAN_REPORT_TABLE_H_
#define SHARDPLAN_REPORT_TABLE_H_

#include <cstddef>
#include <string>
#include <vector>

namespace shardplan {

enum class Align { kLeft, kRight };

// A table of text: columns as wide as their widest cell, two spaces between them, no trailing
// spaces. Where that is wider than `width`, the last column, if it is left-aligned, is wrapped.
class TextTable {
 public:
  explicit TextTable(std::vector<Align> columns, size_t indent = 2)
      : columns_(std::move(columns)), indent_(indent) {}

  // Missing cells at the end are empty.
  void AddRow(std::vector<std::string> cells);
  // A line across all columns, at the indentation less one step.
  void AddHeading(std::string text);

  size_t NaturalWidth() const;
  std::string Render(size_t width) const;

 private:
  struct Row {
    bool heading = false;
    std::vector<std::string> cells;
  };

  std::vector<size_t> Widths() const;

  std::vector<Align> columns_;
  size_t indent_;
  std::vector<Row> rows_;
};

// Pairs of a label and a text, the texts aligned and wrapped to `width`.
std::string RenderFacts(const std::vector<std::pair<std::string, std::string>>& facts,
                        size_t width);

}  // namespace shardplan

#endif  // SHARDPLAN_REPORT_TABLE_H_
