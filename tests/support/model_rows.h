// Rows of a family's table by their names; null where there is none.
#ifndef SHARDPLAN_TESTS_SUPPORT_MODEL_ROWS_H_
#define SHARDPLAN_TESTS_SUPPORT_MODEL_ROWS_H_

#include <string_view>

#include "shardplan/model/family.h"

namespace shardplan::testing_support {

inline const ModuleRow* RowNamed(const ModelSpec& spec, std::string_view name) {
  for (const ModuleRow& row : spec.table.rows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

// The first whose name ends so.
inline const ModuleRow* RowEnding(const ModelSpec& spec, std::string_view suffix) {
  for (const ModuleRow& row : spec.table.rows) {
    if (row.name.ends_with(suffix)) return &row;
  }
  return nullptr;
}

}  // namespace shardplan::testing_support

#endif  // SHARDPLAN_TESTS_SUPPORT_MODEL_ROWS_H_
