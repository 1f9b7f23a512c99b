#include "checkpoint/name_table.h"

#include <gtest/gtest.h>

#include <span>
#include <vector>

namespace shardplan {
namespace {

struct Record {
  NameIndices indices = kNoIndices;
  uint32_t pattern = 0;
};

TEST(NameTableTest, FindsWhatWasEntered) {
  std::vector<Record> records;
  for (uint32_t pattern = 0; pattern < 4; ++pattern) {
    for (int32_t i = -1; i < 30; ++i) {
      for (int32_t j = -1; j < 30; ++j) records.push_back({{i, j, -1}, pattern});
    }
  }
  const std::span<const Record> all = records;
  NameTable table(records.size());
  for (uint32_t i = 0; i < all.size(); ++i) EXPECT_EQ(table.Insert(all, i), NameTable::kNone);
  for (uint32_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(table.Find(all, all[i].pattern, all[i].indices), i);
    EXPECT_EQ(table.Insert(all, i), i);
  }
  EXPECT_EQ(table.Find(all, 4, {0, 0, -1}), NameTable::kNone);
  EXPECT_EQ(table.Find(all, 0, {0, 0, 0}), NameTable::kNone);
  EXPECT_EQ(table.Find(all, 0, {30, 0, -1}), NameTable::kNone);
}

TEST(NameTableTest, TheFirstOfADuplicateStays) {
  const std::vector<Record> records = {{{1, -1, -1}, 7}, {{1, -1, -1}, 8}, {{1, -1, -1}, 7}};
  const std::span<const Record> all = records;
  NameTable table(3);
  EXPECT_EQ(table.Insert(all, 0), NameTable::kNone);
  EXPECT_EQ(table.Insert(all, 1), NameTable::kNone);
  EXPECT_EQ(table.Insert(all, 2), 0u);
  EXPECT_EQ(table.Find(all, 7, {1, -1, -1}), 0u);
}

TEST(NameTableTest, Empty) {
  const NameTable table(0);
  EXPECT_EQ(table.Find(std::span<const Record>(), 0, kNoIndices), NameTable::kNone);
}

}  // namespace
}  // namespace shardplan
