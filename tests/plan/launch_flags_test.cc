#include "plan/launch_flags.h"

#include <gtest/gtest.h>

#include "support/sglang_world.h"

namespace shardplan {
namespace {

using testing_support::FindingOf;
using testing_support::HasFinding;
using testing_support::Store;

Plan Launching(std::vector<std::string> argv) {
  Plan plan;
  plan.launch.push_back({0, {}, std::move(argv)});
  return plan;
}

TEST(LaunchFlags, ThoseThatAVersionDoesNotHaveYet) {
  const auto table = FlagTable::Load(Store(), "sglang");
  ASSERT_TRUE(table.has_value());
  Plan plan = Launching({"python3", "-m", "sglang.launch_server", "--tp-size", "8",
                         "--cuda-graph-max-bs-decode", "64"});
  CheckLaunchFlags(*table, "0.5.20", {}, &plan);
  EXPECT_TRUE(plan.findings.empty());
  CheckLaunchFlags(*table, "0.5.3", {}, &plan);
  EXPECT_EQ(FindingOf(plan.findings, "launch.flag_too_new").subject, "SGLang 0.5.3");
}

TEST(LaunchFlags, WhatACommandHadIsToldElsewhere) {
  const auto table = FlagTable::Load(Store(), "sglang");
  ASSERT_TRUE(table.has_value());
  EngineSettings settings;
  settings.command_flags = {{"--cuda-graph-max-bs-decode", "64", true}};
  Plan plan = Launching({"python3", "--cuda-graph-max-bs-decode", "64"});
  CheckLaunchFlags(*table, "0.5.3", settings, &plan);
  EXPECT_FALSE(HasFinding(plan.findings, "launch.flag_too_new"));
  Plan none;
  CheckLaunchFlags(*table, "0.5.3", {}, &none);
  EXPECT_TRUE(none.findings.empty());
}

}  // namespace
}  // namespace shardplan
