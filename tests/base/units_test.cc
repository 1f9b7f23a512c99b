#include "shardplan/base/units.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace shardplan {
namespace {

constexpr int64_t kMostBytes = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeastBytes = std::numeric_limits<int64_t>::min();

std::string BytesError(std::string_view text) {
  const Result<Bytes> parsed = ParseBytes(text);
  return parsed ? "parsed " + FormatBytes(*parsed) : parsed.error().ToString();
}

std::string TokensError(std::string_view text) {
  const Result<int64_t> parsed = ParseTokenCount(text);
  return parsed ? "parsed " + FormatCount(*parsed) : parsed.error().ToString();
}

TEST(FormatTest, ACardAndSixteenOfThem) {
  const Bytes card(97'871 * kMiB);
  EXPECT_EQ(FormatMiB(card), "97,871 MiB");
  EXPECT_EQ(FormatGiB(card), "95.577 GiB");
  EXPECT_EQ(FormatGiB(card * 16), "1,529.234 GiB");
  EXPECT_EQ(FormatTiB(card * 16), "1.493 TiB");
}

TEST(FormatTest, ACheckpointAndASixteenthOfIt) {
  const Bytes checkpoint(1'560'936'091'448);
  EXPECT_EQ(FormatBytes(checkpoint), "1,560,936,091,448 B");
  EXPECT_EQ(FormatGiB(checkpoint), "1,453.735 GiB");
  EXPECT_EQ(FormatGiB(Bytes(checkpoint.count() / 16)), "90.858 GiB");
}

TEST(FormatTest, NegativeSizes) {
  EXPECT_EQ(FormatGiB(Bytes(-3'489'660'928)), "-3.250 GiB");
  EXPECT_EQ(FormatGiB(Bytes(-1'234 * kGiB), 0), "-1,234 GiB");
  EXPECT_EQ(FormatGiB(Bytes(-1)), "0.000 GiB") << "no shortfall of nothing";
  EXPECT_EQ(FormatBytes(Bytes(-1'000)), "-1,000 B");
}

TEST(FormatTest, MebibytesShowAFractionOnlyWhereThereIsOne) {
  EXPECT_EQ(FormatMiB(Bytes(kMiB)), "1 MiB");
  EXPECT_EQ(FormatMiB(Bytes(kMiB + kMiB / 2)), "1.5 MiB");
  EXPECT_EQ(FormatMiB(Bytes(-kMiB)), "-1 MiB");
}

TEST(FormatTest, AutoPicksTheLargestUnitUpToGiB) {
  EXPECT_EQ(FormatAuto(Bytes()), "0 B");
  EXPECT_EQ(FormatAuto(Bytes(1'023)), "1,023 B");
  EXPECT_EQ(FormatAuto(Bytes(1'536)), "1.5 KiB");
  EXPECT_EQ(FormatAuto(Bytes(75 * kMiB + kMiB / 2)), "75.5 MiB");
  EXPECT_EQ(FormatAuto(Bytes(kGiB)), "1.000 GiB");
  EXPECT_EQ(FormatAuto(Bytes(-2 * kTiB)), "-2,048.000 GiB");
  EXPECT_EQ(FormatAuto(Bytes(kLeastBytes)), "-8,589,934,592.000 GiB");
}

TEST(FormatTest, GroupsDigits) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1'000), "1,000");
  EXPECT_EQ(FormatCount(497'220), "497,220");
  EXPECT_EQ(FormatCount(-999), "-999");
  EXPECT_EQ(FormatCount(-1'000), "-1,000");
  EXPECT_EQ(FormatCount(kMostBytes), "9,223,372,036,854,775,807");
  EXPECT_EQ(FormatCount(kLeastBytes), "-9,223,372,036,854,775,808");
}

TEST(UnitTypesTest, ConvertEachTheirOwnWay) {
  EXPECT_EQ(Gigabytes(80).ToBytes(), Bytes(80'000'000'000));
  EXPECT_EQ(Gigabytes(0.0000000015).ToBytes(), Bytes(2)) << "rounds";
  EXPECT_EQ(Gibibytes(32).ToBytes(), Bytes(34'359'738'368));
  EXPECT_EQ(Gibibytes(1.1).ToBytes(), Bytes(1'181'116'006)) << "int(1.1 * 1024**3)";
  EXPECT_DOUBLE_EQ(InGiB(Bytes(kGiB / 2)).value(), 0.5);
  EXPECT_DOUBLE_EQ(InGB(Bytes(1'500'000'000)).value(), 1.5);
}

TEST(UnitTypesTest, WhatDoesNotFitThrows) {
  EXPECT_THROW(Gibibytes(1e30).ToBytes(), SizeOverflow);
  EXPECT_THROW(Gigabytes(-1e30).ToBytes(), SizeOverflow);
  EXPECT_THROW(Gibibytes(std::numeric_limits<double>::quiet_NaN()).ToBytes(), SizeOverflow);
}

TEST(ParseBytesTest, TheUnitDecides) {
  struct Case {
    std::string_view text;
    int64_t expected;
  };
  for (const Case& c : std::vector<Case>{{"32GiB", 34'359'738'368},
                                         {"32 GB", 32'000'000'000},
                                         {"0.5TiB", 549'755'813'888},
                                         {"1TB", 1'000'000'000'000},
                                         {"512MiB", 536'870'912},
                                         {"1.5 MB", 1'500'000},
                                         {"4KiB", 4'096},
                                         {"4kB", 4'000},
                                         {"4KB", 4'000},
                                         {"150109880320 B", 150'109'880'320},
                                         {"0B", 0},
                                         {"94.97 GiB", 101'973'261'025},
                                         {"9223372036854775807B", kMostBytes}}) {
    const Result<Bytes> parsed = ParseBytes(c.text);
    ASSERT_TRUE(parsed) << c.text << ": " << parsed.error().ToString();
    EXPECT_EQ(parsed->count(), c.expected) << c.text;
  }
}

TEST(ParseBytesTest, Refuses) {
  EXPECT_EQ(BytesError("32"),
            "32: the byte size has no unit; write a number and a unit, such as 32GiB or 32GB");
  EXPECT_EQ(BytesError("32Gb"),
            "32Gb: expected a byte size in B, KiB, MiB, GiB, TiB, kB, MB, GB or TB, found the unit "
            "Gb; write a number and a unit, such as 32GiB or 32GB");
  EXPECT_EQ(BytesError("9223372036854775808B"),
            "9223372036854775808B: the byte size does not fit in 64 bits; write a number and a "
            "unit, such as 32GiB or 32GB");
  EXPECT_EQ(BytesError("8388608.5TiB"),
            "8388608.5TiB: the byte size does not fit in 64 bits; write a number and a unit, such "
            "as 32GiB or 32GB");
  for (const std::string_view text : {"GiB", "-5GiB", "1.2.3GiB", ".GiB", "1.GiB", ".5GiB", "+1GB",
                                      "1e3GiB ", "0x10B", "inf GiB", " 5GiB"}) {
    EXPECT_NE(BytesError(text).find("expected a byte size"), std::string::npos) << text;
  }
  EXPECT_EQ(BytesError("\x1b[2J").substr(0, 29), "\\x1b[2J: expected a byte size");
}

TEST(ParseTokenCountTest, ReadsWhatVllmReads) {
  struct Case {
    std::string_view text;
    int64_t expected;
  };
  for (const Case& c : std::vector<Case>{{"524288", 524'288},
                                         {"512K", 524'288},
                                         {"512k", 512'000},
                                         {"25.6k", 25'600},
                                         {"1M", 1'048'576},
                                         {"1m", 1'000'000},
                                         {"2G", int64_t{2} << 30},
                                         {"2g", 2'000'000'000},
                                         {"1T", int64_t{1} << 40},
                                         {"1t", 1'000'000'000'000},
                                         {"1.001k", 1'000},  // int(1.001 * 1000) in Python
                                         {"0", 0}}) {
    const Result<int64_t> parsed = ParseTokenCount(c.text);
    ASSERT_TRUE(parsed) << c.text << ": " << parsed.error().ToString();
    EXPECT_EQ(*parsed, c.expected) << c.text;
  }
}

TEST(ParseTokenCountTest, Refuses) {
  const std::string hint = "; write a plain number, or one like 512K (524,288) or 512k (512,000)";
  EXPECT_EQ(TokensError("many"), "many: expected a number of tokens" + hint);
  EXPECT_EQ(TokensError("512KB"), "512KB: expected a number of tokens, found the suffix KB" + hint);
  EXPECT_EQ(TokensError("1.5"), "1.5: expected a whole number of tokens" + hint);
  EXPECT_EQ(TokensError("1.5K"), "1.5K: expected a whole number before the binary suffix K" + hint);
  EXPECT_EQ(TokensError("9000000000T"),
            "9000000000T: the number of tokens does not fit in 64 bits" + hint);
  EXPECT_EQ(TokensError("-1"), "-1: expected a number of tokens" + hint);
  EXPECT_EQ(TokensError(""), "expected a number of tokens" + hint);
}

}  // namespace
}  // namespace shardplan
