#include "cli/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shardplan::cli {
namespace {

TEST(LogTest, SilentUntilEnabled) {
  ::testing::internal::CaptureStderr();
  Log("before");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  ::testing::internal::CaptureStderr();
  EnableLog();
  EnableLog();
  Log("read {} things\n");  // no format string, and one line
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              ::testing::MatchesRegex("shardplan: .* read \\{\\} things\\\\x0a\n"));
}

}  // namespace
}  // namespace shardplan::cli
