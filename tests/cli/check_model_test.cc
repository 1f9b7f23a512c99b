#include <gtest/gtest.h>

#include "cli/run_program.h"

namespace shardplan::cli {
namespace {

using testing_support::Outcome;
using testing_support::RunProgram;
using testing_support::TempDir;

TEST(CheckModelTest, AsksForADirectory) {
  const Outcome none = RunProgram("check model");
  EXPECT_EQ(none.code, 2);
  EXPECT_NE(none.err.find("shardplan check model DIR"), std::string::npos) << none.err;
  EXPECT_EQ(RunProgram("check model /no/such/place").code, 4);
}

TEST(CheckModelTest, AnErrorIsANo) {
  const TempDir dir;
  dir.Write("model.safetensors", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n");
  const Outcome outcome = RunProgram("check model '" + dir.path() + "'");
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_NE(outcome.out.find("error model.lfs_pointer: "), std::string::npos) << outcome.out;
}

}  // namespace
}  // namespace shardplan::cli
