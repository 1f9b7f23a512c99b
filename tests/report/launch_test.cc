#include "shardplan/report/launch.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace shardplan {
namespace {

const Bundle kBundle{{{"node-0.sh", "echo\n", true}, {"plan.json", "{}", false}}};

TEST(RenderLaunchTest, PrintsTheFiles) {
  EXPECT_EQ(RenderLaunch("commands", kBundle, Format::kTable), RenderBundle(kBundle));
  const auto json = nlohmann::json::parse(RenderLaunch("commands", kBundle, Format::kJson));
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["target"], "commands");
  EXPECT_EQ(json["files"][0]["path"], "node-0.sh");
  EXPECT_EQ(json["files"][0]["text"], "echo\n");
  EXPECT_EQ(json["files"][0]["bytes"], 5);
  EXPECT_EQ(json["files"][0]["executable"], true);
}

TEST(RenderLaunchReportTest, TellsWhatWasWritten) {
  const std::string text = RenderLaunchReport("commands", kBundle, "de\nploy", Format::kTable);
  EXPECT_TRUE(text.starts_with("Written to de\\x0aploy\n")) << text;
  EXPECT_NE(text.find("node-0.sh"), std::string::npos);
  const auto json =
      nlohmann::json::parse(RenderLaunchReport("commands", kBundle, "deploy", Format::kJson));
  EXPECT_EQ(json["directory"], "deploy");
  EXPECT_FALSE(json["files"][0].contains("text"));
}

}  // namespace
}  // namespace shardplan
