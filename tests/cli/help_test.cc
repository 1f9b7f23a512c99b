#include "cli/help.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/App.hpp>
#include <memory>
#include <sstream>

#include "cli/option_set.h"
#include "cli/run_program.h"
#include "report/text.h"

namespace shardplan::cli {
namespace {

using testing_support::RunProgram;

TEST(HelpFormatterTest, PurposeUsageWordsGroups) {
  CLI::App app("Does something.\n\nExamples:\n  tool do it", "tool");
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_help_flag("-h,--help", "Print this help and exit");
  OptionSet options(&app);
  std::string model;
  options.Positional("MODEL", "A path", &model);
  options.Group("Where");
  options.Text("-g,--gpu", "ID", "Card", [](std::string) {});
  options.Count("--dcp,--decode-context-parallel-size",
                "A long name, and a text that does not fit "
                "on what is left of the line beside it",
                1, [](int64_t) {});
  options.Flag("--eager", "No graphs", [] {});
  app.footer("The end.");
  EXPECT_EQ(
      app.help(),
      "Does something.\n"
      "\n"
      "Examples:\n"
      "  tool do it\n"
      "\n"
      "Usage: tool MODEL [options]\n"
      "\n"
      "  MODEL                               A path\n"
      "\n"
      "Where:\n"
      "  -g, --gpu ID                        Card\n"
      "  --dcp, --decode-context-parallel-size N\n"
      "                                      A long name, and a text that does not fit on what "
      "is left of\n"
      "                                      the line beside it\n"
      "  --eager                             No graphs\n"
      "\n"
      "Options:\n"
      "  -h, --help                          Print this help and exit\n"
      "\n"
      "The end.\n");
}

TEST(HelpFormatterTest, CommandsByTheirFirstLine) {
  CLI::App app("Does something.", "tool");
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_help_flag();
  app.add_subcommand("plan", "Plans\n\nExamples:\n  …");
  EXPECT_EQ(app.help(),
            "Does something.\n"
            "\n"
            "Usage: tool COMMAND [options]\n"
            "\n"
            "Commands:\n"
            "  plan                                Plans\n");
}

TEST(HelpFormatterTest, EveryCommandFitsAHundredColumns) {
  for (const char* command : {"", "plan", "compare", "inspect", "explain", "standin", "catalog"}) {
    const testing_support::Outcome outcome = RunProgram(std::string(command) + " --help");
    EXPECT_EQ(outcome.code, 0);
    EXPECT_THAT(outcome.out, ::testing::HasSubstr("Examples:\n  shardplan "));
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(DisplayWidth(line), 100U) << line;
  }
}

}  // namespace
}  // namespace shardplan::cli
