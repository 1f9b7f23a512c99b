// Rows of a tab-separated file below tests/data.
#ifndef SHARDPLAN_TESTS_SUPPORT_TABLE_H_
#define SHARDPLAN_TESTS_SUPPORT_TABLE_H_

#include <gtest/gtest.h>

#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace shardplan::testing_support {

using TableRow = std::vector<std::string>;

// Lines that begin with # are comments.
inline std::vector<TableRow> ReadTable(const std::string& name) {
  std::ifstream in(std::string(SHARDPLAN_TEST_DATA) + "/" + name);
  EXPECT_TRUE(in.good()) << name;
  std::vector<TableRow> rows;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream fields(line);
    TableRow row;
    for (std::string field; std::getline(fields, field, '\t');) row.push_back(field);
    rows.push_back(std::move(row));
  }
  return rows;
}

// "-" is nothing.
inline std::optional<int64_t> NumberOr(const std::string& field) {
  if (field == "-") return std::nullopt;
  return std::stoll(field);
}

inline std::optional<std::string> TextOr(const std::string& field) {
  if (field == "-") return std::nullopt;
  return field;
}

// Numbers separated by commas; "first:last:step" stands for a run of them.
inline std::vector<int64_t> NumbersIn(const std::string& field) {
  std::vector<int64_t> numbers;
  std::istringstream parts(field);
  for (std::string part; std::getline(parts, part, ',');) {
    std::istringstream run(part);
    int64_t first = 0, last = 0, step = 1;
    char colon = 0;
    run >> first;
    if (!(run >> colon >> last >> colon >> step)) last = first;
    for (int64_t n = first; n <= last; n += step) numbers.push_back(n);
  }
  return numbers;
}

}  // namespace shardplan::testing_support

#endif  // SHARDPLAN_TESTS_SUPPORT_TABLE_H_
