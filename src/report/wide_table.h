// A table with more columns than a line may hold.
#ifndef SHARDPLAN_REPORT_WIDE_TABLE_H_
#define SHARDPLAN_REPORT_WIDE_TABLE_H_

#include <cstddef>
#include <string>
#include <vector>

namespace shardplan {

// Labelled rows over columns of right-aligned cells. Where they are wider than a line, the columns
// are cut into blocks one below the other, each with all labels; a block has one column at least.
class WideTable {
 public:
  explicit WideTable(size_t columns) : columns_(columns) {}

  // Missing cells are empty.
  void AddRow(std::string label, std::vector<std::string> cells);
  // A line across all columns; it stands in every block.
  void AddHeading(std::string text);

  std::string Render(size_t width) const;

 private:
  struct Row {
    bool heading = false;
    std::string label;
    std::vector<std::string> cells;
  };

  size_t columns_;
  std::vector<Row> rows_;
};

}  // namespace shardplan

#endif  // SHARDPLAN_REPORT_WIDE_TABLE_H_
