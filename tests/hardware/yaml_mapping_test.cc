#include "hardware/yaml_mapping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shardplan/base/units.h"

namespace shardplan::internal {
namespace {

// What a mapping of the keys a, b, size, basis, source and date makes of a text.
Result<std::string> ReadBoth(std::string_view text) {
  return ReadDocument<std::string>(
      text, "dir/toy.yaml", [](const Place& place, const YAML::Node& node) -> Result<std::string> {
        SHARDPLAN_ASSIGN_OR_RETURN(
            const Mapping map,
            Mapping::Read(place, node, "", {"a", "b", "size", "basis", "source", "date"}));
        SHARDPLAN_ASSIGN_OR_RETURN(const std::string a, map.Text("a"));
        SHARDPLAN_ASSIGN_OR_RETURN(const int b, map.Count("b", 10));
        return a + std::to_string(b) + place.Stem();
      });
}

std::string MappingError(std::string_view text) {
  const Result<std::string> read = ReadBoth(text);
  if (read) return "read";
  EXPECT_EQ(read.error().code, ErrorCode::kInvalidInput);
  return read.error().ToString();
}

TEST(MappingTest, KnownKeysOnce) {
  EXPECT_EQ(*ReadBoth("a: x\nb: 7\n"), "x7toy");
  EXPECT_EQ(MappingError("a: x\nb: 7\nbasiss: x\n"),
            "dir/toy.yaml:3: unknown key basiss; did you mean basis?");
  EXPECT_EQ(MappingError("a: x\na: y\n"), "dir/toy.yaml:2: second a");
  EXPECT_EQ(MappingError("a: x\n"), "dir/toy.yaml:1: missing key b");
  EXPECT_EQ(MappingError("a: x\nb: 11\n"),
            "dir/toy.yaml:2: b: expected a number from 0 to 10, found 11");
  EXPECT_EQ(MappingError("a: x\nb: 010\n"),
            "dir/toy.yaml:2: b: expected a number without leading zeros, found 010");
  EXPECT_EQ(MappingError("a: x\nb: 0\n"), "read");
  EXPECT_EQ(MappingError("a: [x]\nb: 1\n"), "dir/toy.yaml:1: a: expected a text, found a list");
  EXPECT_EQ(MappingError("[a]: x\n"), "dir/toy.yaml:1: expected a word as the key");
  EXPECT_EQ(MappingError("- a\n"), "dir/toy.yaml:1: expected a mapping");
}

TEST(ReadDocumentTest, OneSoundDocument) {
  EXPECT_EQ(MappingError("a: x\n---\nb: 1\n"),
            "dir/toy.yaml:1: expected one YAML document, found 2");
  EXPECT_THAT(MappingError("a: x\nb: [\n"), testing::HasSubstr(": expected YAML: "));
  EXPECT_THAT(MappingError(std::string(100'000, '[')), testing::HasSubstr("nested too deep"));
}

TEST(MappingTest, ADateIsADay) {
  const auto read = [](const std::string& date) {
    return ReadDocument<std::string>(
        "source: a\ndate: " + date, "t.yaml", [](const Place& place, const YAML::Node& node) {
          const Result<Mapping> map = Mapping::Read(place, node, "", {"source", "date"});
          return map->DatedSource();
        });
  };
  EXPECT_EQ(read("2028-02-29").value_or("none"), "a (2028-02-29)");
  for (const char* date : {"2026-13-09", "2026-00-09", "2026-04-31", "2026-01-00", "2026-1-01",
                           "2026/01/01", "2026-01-0x"}) {
    ASSERT_FALSE(read(date)) << date;
    EXPECT_THAT(read(date).error().ToString(),
                testing::HasSubstr("date: expected a date such as 2026-11-29"));
  }
}

TEST(ReadSourcedBytesTest, ValueOrRange) {
  const auto read = [](std::string_view text) {
    return ReadDocument<SourcedBytes>(
        text, "t.yaml", [](const Place& place, const YAML::Node& node) -> Result<SourcedBytes> {
          SHARDPLAN_ASSIGN_OR_RETURN(const Mapping map, Mapping::Read(place, node, "", {"size"}));
          return ReadSourcedBytes(map, "size");
        });
  };
  const auto value = read("size: {value: 2 MiB, basis: measured, source: a log, date: 2026-11-29}");
  ASSERT_TRUE(value) << value.error().ToString();
  EXPECT_EQ(value->bytes.central, Bytes(2 * kMiB));
  EXPECT_EQ(value->basis, Basis::kMeasured);
  EXPECT_EQ(value->source, "a log (2026-11-29)");
  EXPECT_THAT(read("size: {low: 2 MiB, central: 1 MiB, high: 3 MiB, basis: exact, source: a, "
                   "date: 2026-11-29}")
                  .error()
                  .ToString(),
              testing::HasSubstr("t.yaml:1: size: expected low <= central <= high"));
}

}  // namespace
}  // namespace shardplan::internal
