#include "engine/tsv_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace shardplan {
namespace {

using ::testing::ElementsAre;

TEST(TsvTableTest, SplitsAtEverySeparator) {
  EXPECT_THAT(SplitText("a|b||c", '|'), ElementsAre("a", "b", "", "c"));
  EXPECT_THAT(SplitText("", '|'), ElementsAre(""));
}

TEST(TsvTableTest, LinesBelowTheHeading) {
  const testing_support::TempDir dir;
  dir.Write("engines/vllm/x.tsv", "name\tone\n\na\tb\nc\n");
  const auto store = ConfigStore::WithOverrides(dir.Path("")).value();
  const auto lines = ReadTsvTable(store, "engines/vllm/x.tsv", 1, 2);
  ASSERT_TRUE(lines.has_value());
  EXPECT_THAT(*lines, ElementsAre(ElementsAre("a", "b"), ElementsAre("c", "")));
  const auto few = ReadTsvTable(store, "engines/vllm/x.tsv", 2, 2);
  ASSERT_FALSE(few.has_value());
  EXPECT_EQ(few.error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(few.error().message, "line 4: expected a name and 2 to 2 columns, found 1");
  EXPECT_FALSE(ReadTsvTable(store, "engines/vllm/y.tsv", 1, 2).has_value());
}

}  // namespace
}  // namespace shardplan
