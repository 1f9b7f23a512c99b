#include <gtest/gtest.h>

#include <filesystem>

#include "cli/run_program.h"

namespace shardplan::cli {
namespace {

using testing_support::Outcome;
using testing_support::ReadText;
using testing_support::RunProgram;
using testing_support::TempDir;

TEST(LaunchTargetTest, AsksForATarget) {
  const Outcome none = RunProgram("launch");
  EXPECT_EQ(none.code, 2);
  EXPECT_NE(none.err.find("shardplan launch: expected "), std::string::npos) << none.err;
  const Outcome wrong = RunProgram("launch comands m");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("comands: unknown command; did you mean commands?"), std::string::npos)
      << wrong.err;
}

TEST(LaunchTargetTest, WritesADirectoryWithThePlan) {
  const TempDir dir;
  const std::string target = dir.Path("a b");
  const Outcome written =
      RunProgram("launch commands tiny-dense/config.json --gpu h20-96 --tp 1 -o '" + target + "'");
  ASSERT_EQ(written.code, 0) << written.err;
  EXPECT_TRUE(std::filesystem::exists(target + "/node-0.sh"));
  EXPECT_TRUE(ReadText(target + "/plan.json").starts_with("{\n  \"schema_version\": 1"));
  EXPECT_EQ(
      RunProgram("launch commands tiny-dense/config.json --gpu h20-96 --tp 1 -o '" + target + "'")
          .code,
      4);
}

TEST(LaunchTargetTest, WritesNothingOfWhatDoesNotFit) {
  const TempDir dir;
  const std::string target = dir.Path("out");
  const std::string command =
      "launch commands tiny-dense/config.json --gpu l4-24 --gpu-memory-in-use 23GiB -o '" + target +
      "'";
  const Outcome refused = RunProgram(command);
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("nothing is written: does not fit"), std::string::npos) << refused.err;
  EXPECT_FALSE(std::filesystem::exists(target));
  EXPECT_EQ(RunProgram(command + " --force").code, 1);
  EXPECT_TRUE(std::filesystem::exists(target + "/node-0.sh"));
}

}  // namespace
}  // namespace shardplan::cli
