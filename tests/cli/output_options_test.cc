#include "cli/output_options.h"

#include <gtest/gtest.h>

#include <CLI/App.hpp>
#include <vector>

namespace shardplan::cli {
namespace {

class OutputOptionsTest : public ::testing::Test {
 protected:
  std::string Parse(std::vector<std::string> arguments) {
    std::reverse(arguments.begin(), arguments.end());
    CLI::App app;
    OptionSet set(&app);
    AddOutputOptions(&set, &options_);
    app.parse(std::move(arguments));
    return set.status() ? "" : set.status().error().ToString();
  }

  OutputOptions options_;
};

TEST_F(OutputOptionsTest, Defaults) {
  EXPECT_EQ(Parse({}), "");
  EXPECT_EQ(options_.format, Format::kTable);
  EXPECT_EQ(options_.file, "");
  EXPECT_EQ(options_.configs, "");
  EXPECT_FALSE(options_.no_color);
}

TEST_F(OutputOptionsTest, All) {
  EXPECT_EQ(Parse({"--format", "yaml", "-o", "f", "--configs", "d", "--no-color"}), "");
  EXPECT_EQ(options_.format, Format::kYaml);
  EXPECT_EQ(options_.file, "f");
  EXPECT_EQ(options_.configs, "d");
  EXPECT_TRUE(options_.no_color);
  EXPECT_EQ(Parse({"--format=json", "--output", "g"}), "");
  EXPECT_EQ(options_.format, Format::kJson);
  EXPECT_EQ(options_.file, "g");
}

TEST_F(OutputOptionsTest, UnknownFormat) {
  EXPECT_EQ(Parse({"--format", "html"}), "--format html: expected table, json or yaml");
}

TEST_F(OutputOptionsTest, FilesAreNeverColoured) {
  options_.file = "f";
  EXPECT_FALSE(WantsColor(options_));
  options_.file = "";
  options_.no_color = true;
  EXPECT_FALSE(WantsColor(options_));
}

}  // namespace
}  // namespace shardplan::cli
