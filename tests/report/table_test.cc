#include "report/table.h"

#include <gtest/gtest.h>

namespace shardplan {
namespace {

TEST(TextTableTest, AlignsColumns) {
  TextTable table({Align::kLeft, Align::kRight, Align::kLeft});
  table.AddRow({"weights", "65.546", "exact"});
  table.AddRow({"kv", "1.5", "2×"});
  table.AddRow({"×", "100.000"});
  EXPECT_EQ(table.Render(80),
            "  weights   65.546  exact\n"
            "  kv           1.5  2×\n"
            "  ×        100.000\n");
  EXPECT_EQ(table.NaturalWidth(), 25U);
}

TEST(TextTableTest, HeadingsStandOutdentedAndTakeNoPartInTheWidths) {
  TextTable table({Align::kLeft, Align::kRight}, 4);
  table.AddHeading("counted by the engine");
  table.AddRow({"a", "1"});
  EXPECT_EQ(table.Render(10),
            "  counted by the engine\n"
            "    a  1\n");
}

TEST(TextTableTest, WrapsTheLastColumn) {
  TextTable table({Align::kLeft, Align::kLeft});
  table.AddRow({"id", "one two three four"});
  EXPECT_EQ(table.Render(20),
            "  id  one two three\n"
            "      four\n");
}

TEST(TextTableTest, KeepsSpacesOfCellsThatFit) {
  TextTable table({Align::kLeft, Align::kLeft});
  table.AddRow({"id", "  a  b"});
  EXPECT_EQ(table.Render(20), "  id    a  b\n");
}

TEST(TextTableTest, NeverWrapsNumbers) {
  TextTable table({Align::kLeft, Align::kRight});
  table.AddRow({"id", "1,560,936,091,448 B"});
  EXPECT_EQ(table.Render(10), "  id  1,560,936,091,448 B\n");
}

TEST(RenderFactsTest, LabelsAndTexts) {
  EXPECT_EQ(RenderFacts({{"model", "a b"}, {"tensors", "3"}}, 80),
            "  model    a b\n"
            "  tensors  3\n");
  EXPECT_EQ(RenderFacts({}, 80), "");
}

}  // namespace
}  // namespace shardplan
