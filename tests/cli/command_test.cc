#include "cli/command.h"

#include <gtest/gtest.h>

#include <CLI/App.hpp>

namespace shardplan::cli {
namespace {

TEST(CommandTest, ACommandStandsBelowItsParentWithDescriptionAndFooter) {
  CLI::App program;
  CLI::App* const command = AddSubcommand(&program, "plan", "What fits", "Exit code: 0 yes");
  EXPECT_EQ(program.get_subcommand("plan"), command);
  EXPECT_EQ(command->get_description(), "What fits");
  EXPECT_EQ(command->get_footer(), "Exit code: 0 yes");
  EXPECT_EQ(AddSubcommand(&program, "launch", "Write it")->get_footer(), "");
}

}  // namespace
}  // namespace shardplan::cli
