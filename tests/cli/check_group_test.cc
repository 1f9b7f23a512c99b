#include <gtest/gtest.h>

#include "cli/run_program.h"

namespace shardplan::cli {
namespace {

using testing_support::Outcome;
using testing_support::RunProgram;

TEST(CheckGroupTest, AsksForWhatToCheck) {
  const Outcome none = RunProgram("check");
  EXPECT_EQ(none.code, 2);
  EXPECT_NE(none.err.find("shardplan check: expected "), std::string::npos) << none.err;
  EXPECT_EQ(RunProgram("check --help").code, 0);
  const Outcome wrong = RunProgram("check modle m");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("modle: unknown command; did you mean model?"), std::string::npos)
      << wrong.err;
}

}  // namespace
}  // namespace shardplan::cli
