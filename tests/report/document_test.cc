#include "report/document.h"

#include <gtest/gtest.h>

namespace shardplan {
namespace {

Document Example() {
  return Document{{"verdict", "fits"},
                  {"number", "1e3"},
                  {"yes", true},
                  {"tokens", 1234955},
                  {"ratio", 2.5},
                  {"unknown", nullptr},
                  {"none", Document::array()},
                  {"empty", Document::object()},
                  {"ranks", {{{"rank", 0}}, {{"rank", 1}}}}};
}

TEST(DumpJsonTest, KeepsTheOrderOfKeys) {
  EXPECT_EQ(DumpJson({{"b", 1}, {"a", {1, 2}}}),
            "{\n"
            "  \"b\": 1,\n"
            "  \"a\": [\n"
            "    1,\n"
            "    2\n"
            "  ]\n"
            "}\n");
}

TEST(DumpJsonTest, SurvivesBytesThatAreNotUtf8) {
  EXPECT_EQ(DumpJson({{"name",
                       "a\xff"
                       "b"}}),
            "{\n  \"name\": \"a\xef\xbf\xbd"
            "b\"\n}\n");
}

TEST(DumpYamlTest, QuotesStringsAndOddKeys) {
  EXPECT_EQ(DumpYaml(Example()),
            "verdict: \"fits\"\n"
            "number: \"1e3\"\n"
            "\"yes\": true\n"
            "tokens: 1234955\n"
            "ratio: 2.5\n"
            "unknown: ~\n"
            "none: []\n"
            "empty: {}\n"
            "ranks:\n"
            "  - rank: 0\n"
            "  - rank: 1\n");
}

TEST(DumpYamlTest, EscapesWhatWouldBreakOut) {
  EXPECT_EQ(DumpYaml({{"name", "a\"\n- b: \x1b"}}), "name: \"a\\\"\\n- b: \\x1b\"\n");
  EXPECT_EQ(DumpYaml({{"A: b", 1}}), "\"A: b\": 1\n");
  EXPECT_EQ(DumpYaml({{"name",
                       "a\xff"
                       "b"}}),
            "name: \"a\xef\xbf\xbd"
            "b\"\n");
}

}  // namespace
}  // namespace shardplan
