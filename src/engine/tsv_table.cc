#include "engine/tsv_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace shardplan {

std::vector<std::string> SplitText(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

Result<std::vector<std::vector<std::string>>> ReadTsvTable(const ConfigStore& store,
                                                           const std::string& name, size_t least,
                                                           size_t columns) {
  SHARDPLAN_ASSIGN_OR_RETURN(const std::string_view text, store.Get(name));
  std::vector<std::vector<std::string>> lines;
  size_t number = 0;
  for (const std::string& line : SplitText(text, '\n')) {
    if (++number == 1 || line.empty()) continue;
    std::vector<std::string> cells = SplitText(line, '\t');
    if (cells.size() < least || cells.size() > columns || cells[0].empty()) {
      return Fail(ErrorCode::kInvalidInput, store.Origin(name),
                  fmt::format("line {}: expected a name and {} to {} columns, found {}", number,
                              least, columns, cells.size()));
    }
    cells.resize(columns);
    lines.push_back(std::move(cells));
  }
  return lines;
}

}  // namespace shardplan
