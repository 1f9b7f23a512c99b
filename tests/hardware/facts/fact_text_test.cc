#include "hardware/facts/fact_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shardplan/base/units.h"

namespace shardplan::facts {
namespace {

using testing::ElementsAre;

TEST(LinesOfTest, WithoutEndsAndTerminalEscapes) {
  EXPECT_THAT(LinesOf("a\r\n\x1b[4mGPU0\tGPU1\x1b[0m\n\nlast"),
              ElementsAre("a", "GPU0\tGPU1", "", "last"));
  EXPECT_THAT(LinesOf("cut \x1b[4"), ElementsAre("cut "));
  EXPECT_THAT(LinesOf("\x1b"), ElementsAre(""));
  EXPECT_THAT(LinesOf(""), ElementsAre());
}

TEST(SplitTest, TrimsPieces) {
  EXPECT_THAT(Split("a, b ,,c", ','), ElementsAre("a", "b", "", "c"));
  EXPECT_THAT(Words("  GPU0\t X  NV18 "), ElementsAre("GPU0", "X", "NV18"));
  EXPECT_THAT(Words(" \t"), ElementsAre());
}

TEST(ParseIntTest, WholeNumbersAlone) {
  EXPECT_EQ(ParseInt("18"), 18);
  for (const char* text : {"", "x", "1x", "-1", "1234567890", "0x1", " 1"}) {
    EXPECT_EQ(ParseInt(text), std::nullopt) << text;
  }
}

TEST(ParseSizeTest, UnitsOfTheTools) {
  EXPECT_EQ(ParseSize("143771 MiB", kMiB), Bytes(143771 * kMiB));
  EXPECT_EQ(ParseSize("143771", kMiB), Bytes(143771 * kMiB));
  EXPECT_EQ(ParseSize("263998500 kB", kKiB), Bytes(263998500 * kKiB));
  EXPECT_EQ(ParseSize("2 MB", kKiB), Bytes(2 * kMiB));
  for (const char* text : {"", "N/A", "[N/A]", "[Not Supported]", "12 XiB", "-3 MiB", "1.5 MiB",
                           "99999999999999999999 MiB", "9999999999999 GiB"}) {
    EXPECT_EQ(ParseSize(text, kMiB), std::nullopt) << text;
  }
}

TEST(FailAtTest, NamesFileAndLine) {
  const tl::unexpected<Error> error = FailAt("a\nb.txt", 4, "expected more");
  EXPECT_EQ(error.value().ToString(), "a\\x0ab.txt:5: expected more");
  EXPECT_EQ(error.value().code, ErrorCode::kInvalidInput);
}

}  // namespace
}  // namespace shardplan::facts
