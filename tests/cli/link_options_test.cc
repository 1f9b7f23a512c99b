#include "cli/link_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/App.hpp>

#include "shardplan/plan/expert_load.h"
#include "support/temp_dir.h"

namespace shardplan::cli {
namespace {

using ::testing::HasSubstr;

struct ParsedLinks {
  Deployment d;
  std::string error;
};

ParsedLinks ParseLinks(std::vector<std::string> words) {
  CLI::App app;
  OptionSet set(&app);
  ParsedLinks out;
  AddLinkOptions(&set, &out.d);
  std::reverse(words.begin(), words.end());
  app.parse(std::move(words));
  if (!set.status()) out.error = set.status().error().ToString();
  return out;
}

TEST(LinkOptionsTest, RatesAreSettings) {
  const ParsedLinks p = ParseLinks(
      {"--network-gbps", "3200", "--disk-gb-per-s", "3.5", "--shared-fs-gb-per-s", "20"});
  EXPECT_EQ(p.error, "");
  EXPECT_EQ(p.d.links.network_gbps, 3200);
  EXPECT_EQ(p.d.links.disk_gb_per_s, 3.5);
  EXPECT_EQ(p.d.links.shared_fs_gb_per_s, 20);
  EXPECT_FALSE(ParseLinks({}).d.links.network_gbps.has_value());
}

TEST(LinkOptionsTest, RatesAreAboveZero) {
  for (const char* value : {"0", "0.0", "1000001", "x", "-1"}) {
    EXPECT_NE(ParseLinks({std::string("--network-gbps=") + value}).error, "") << value;
  }
  EXPECT_THAT(ParseLinks({"--disk-gb-per-s", "0"}).error, HasSubstr("expected a rate above 0"));
}

TEST(LinkOptionsTest, LoadsAreRead) {
  const testing_support::TempDir dir;
  testing_support::WriteText(dir.Path("l.csv"), "layer,expert,load\n1,0,5\n");
  const ParsedLinks p = ParseLinks({"--expert-load", dir.Path("l.csv")});
  EXPECT_EQ(p.error, "");
  ASSERT_NE(p.d.expert_loads, nullptr);
  EXPECT_EQ(p.d.expert_loads->layers.size(), 1u);
  EXPECT_THAT(ParseLinks({"--expert-load", dir.Path("none")}).error, HasSubstr("none"));
}

}  // namespace
}  // namespace shardplan::cli
