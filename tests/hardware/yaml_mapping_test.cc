#include "hardware/yaml_mapping.h"

#include <gtest/gtest.h>

namespace shardplan::internal {
namespace {

// The text under "key", or the error.
std::string Read(const std::string& yaml) {
  const Result<std::string> text = ReadDocument<std::string>(
      yaml, "a/b.yaml", [](const Place& place, const YAML::Node& node) -> Result<std::string> {
        SHARDPLAN_ASSIGN_OR_RETURN(const Mapping map, Mapping::Read(place, node, "", {"key"}));
        return map.Text("key");
      });
  return text ? *text : text.error().ToString();
}

TEST(YamlMappingTest, KnownKeysOnceEach) {
  EXPECT_EQ(Read("key: value\n"), "value");
  EXPECT_EQ(Read("kex: value\n"), "a/b.yaml:1: unknown key kex; did you mean key?");
  EXPECT_EQ(Read("key: a\nkey: b\n"), "a/b.yaml:2: second key");
  EXPECT_EQ(Read("{}\n"), "a/b.yaml:1: missing key key");
  EXPECT_EQ(Read("- key\n"), "a/b.yaml:1: expected a mapping");
  EXPECT_EQ(Read("key: []\n"), "a/b.yaml:1: key: expected a text, found a list");
  EXPECT_EQ(Read("key: a\n---\nkey: b\n"), "a/b.yaml:1: expected one YAML document, found 2");
}

}  // namespace
}  // namespace shardplan::internal
