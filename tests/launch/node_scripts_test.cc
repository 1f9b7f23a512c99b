#include "launch/node_scripts.h"

#include <gtest/gtest.h>

namespace shardplan {
namespace {

TEST(NodeScriptsTest, WritesOneScriptANode) {
  Plan plan;
  plan.launch = {{0, {{"A", "1 2"}}, {"vllm", "serve", "m"}}, {1, {}, {"vllm", "serve", "$(m)"}}};
  const Model model;
  const LaunchSite site;
  const Result<Bundle> bundle = MakeNodeScripts({plan, model, site});
  ASSERT_TRUE(bundle.has_value());
  ASSERT_EQ(bundle->files.size(), 2u);
  EXPECT_EQ(bundle->files[0].path, "node-0.sh");
  EXPECT_EQ(bundle->files[0].text,
            "#!/usr/bin/env bash\nset -euo pipefail\n\nA='1 2' \\\nvllm serve m\n");
  EXPECT_TRUE(bundle->files[0].executable);
  EXPECT_NE(bundle->files[1].text.find("'$(m)'"), std::string::npos);
}

TEST(NodeScriptsTest, RefusesAPlanWithoutCommands) {
  const Plan plan;
  const Model model;
  const LaunchSite site;
  EXPECT_FALSE(MakeNodeScripts({plan, model, site}).has_value());
}

}  // namespace
}  // namespace shardplan
