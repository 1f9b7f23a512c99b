#include "report/wide_table.h"

#include <gtest/gtest.h>

namespace shardplan {
namespace {

WideTable WideExample() {
  WideTable table(3);
  table.AddRow("", {"one", "two", "three"});
  table.AddHeading("numbers");
  table.AddRow("a label", {"1", "22", "333"});
  table.AddRow("short", {"4"});
  return table;
}

TEST(WideTableTest, OneBlockWhereItFits) {
  EXPECT_EQ(WideExample().Render(40),
            "           one  two  three\n"
            "numbers\n"
            "  a label    1   22    333\n"
            "  short      4\n");
}

TEST(WideTableTest, BlocksRepeatLabelsAndHeadings) {
  EXPECT_EQ(WideExample().Render(21),
            "           one  two\n"
            "numbers\n"
            "  a label    1   22\n"
            "  short      4\n"
            "\n"
            "           three\n"
            "numbers\n"
            "  a label    333\n"
            "  short\n");
}

TEST(WideTableTest, ABlockHasAColumnAtLeast) {
  WideTable table(2);
  table.AddRow("label", {"wider than all", "x"});
  EXPECT_EQ(table.Render(10), "  label  wider than all\n\n  label  x\n");
}

}  // namespace
}  // namespace shardplan
