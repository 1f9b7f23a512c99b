// The tables of configs/engines/<engine>: lines of cells between tabs, below a heading.
#ifndef SHARDPLAN_ENGINE_TSV_TABLE_H_
#define SHARDPLAN_ENGINE_TSV_TABLE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "shardplan/base/config_store.h"
#include "shardplan/base/result.h"

namespace shardplan {

// The parts of a text between separators: one more than there are separators.
std::vector<std::string> SplitText(std::string_view text, char separator);

// The lines of a file of the store without its heading, cut at tabs: at least `least` cells, the
// first of them not empty, filled up with empty ones to `columns`. Fails with kInvalidInput, naming
// file and line, where one has another number, and with the store's error without the file.
Result<std::vector<std::vector<std::string>>> ReadTsvTable(const ConfigStore& store,
                                                           const std::string& name, size_t least,
                                                           size_t columns);

}  // namespace shardplan

#endif  // SHARDPLAN_ENGINE_TSV_TABLE_H_
