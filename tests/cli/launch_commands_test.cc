#include <gtest/gtest.h>

#include "cli/run_program.h"

namespace shardplan::cli {
namespace {

TEST(LaunchCommandsTest, PrintsWhatItWouldWrite) {
  const testing_support::Outcome outcome =
      testing_support::RunProgram("launch commands tiny-dense/config.json --gpu h20-96 --tp 1");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with("==> node-0.sh <==\n#!/usr/bin/env bash\n")) << outcome.out;
  EXPECT_NE(outcome.out.find("==> plan.json <=="), std::string::npos);
}

}  // namespace
}  // namespace shardplan::cli
