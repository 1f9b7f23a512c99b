#include "cli/terminal.h"

#include <gtest/gtest.h>

namespace shardplan::cli {
namespace {

// What needs real pipes, closed streams and terminals is in app_test.cc.

TEST(TerminalTest, WritesTheAnswerAsItIs) {
  ::testing::internal::CaptureStdout();
  EXPECT_TRUE(WriteStdout("a\nb×"));
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "a\nb×");
}

TEST(TerminalTest, ErrorsAreOneLine) {
  ::testing::internal::CaptureStderr();
  PrintError("x\ny\x1b");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "shardplan: error: x\\x0ay\\x1b\n");
}

TEST(TerminalTest, NotesAreAsTheyAre) {
  ::testing::internal::CaptureStderr();
  PrintNote("one\ntwo\n");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "one\ntwo\n");
}

TEST(TerminalTest, NoColourWithoutATerminal) {
  ::testing::internal::CaptureStdout();
  EXPECT_FALSE(StdoutWantsColor());
  ::testing::internal::GetCapturedStdout();
}

TEST(TerminalTest, QuickWorkHasNoProgress) {
  ::testing::internal::CaptureStderr();
  { const ProgressNote note("reading"); }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace shardplan::cli
