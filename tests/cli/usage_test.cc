#include "cli/usage.h"

#include <gtest/gtest.h>

#include <CLI/App.hpp>
namespace shardplan::cli {
namespace {

std::string Message(const Status& status) { return status ? "" : status.error().ToString(); }

TEST(CheckArgumentsTest, RefusesOptionsWithAnEmptyValue) {
  EXPECT_EQ(Message(CheckArguments({"plan", "m", "--gpu=x", "--a=b="})), "");
  EXPECT_EQ(Message(CheckArguments({"plan", "--gpu="})), "--gpu=: expected a value, found nothing");
  EXPECT_EQ(Message(CheckArguments({"plan", "--", "--gpu="})), "");
}

class CheckExtrasTest : public ::testing::Test {
 protected:
  CheckExtrasTest() {
    app_.allow_extras();
    app_.require_subcommand(0, 1);
    command_ = app_.add_subcommand("plan", "");
    command_->allow_extras();
    command_->add_option("MODEL", model_);
    command_->add_option("--gpu", gpu_);
  }

  // Arguments in the order in which a person gives them.
  void Parse(std::vector<std::string> arguments) {
    std::reverse(arguments.begin(), arguments.end());
    app_.parse(std::move(arguments));
  }

  CLI::App app_{"", "shardplan"};
  CLI::App* command_ = nullptr;
  std::string model_, gpu_;
};

TEST_F(CheckExtrasTest, NothingLeftOver) {
  Parse({"plan", "m", "--gpu", "x"});
  EXPECT_TRUE(CheckExtras(*command_));
}

TEST_F(CheckExtrasTest, AnUnknownOptionBeforeAWord) {
  Parse({"plan", "m", "8", "--gpy", "x"});
  EXPECT_EQ(Message(CheckExtras(*command_)), "--gpy: unknown option; did you mean --gpu?");
}

TEST_F(CheckExtrasTest, AWordTooMany) {
  Parse({"plan", "m", "n"});
  EXPECT_EQ(Message(CheckExtras(*command_)), "n: unexpected argument; see shardplan plan --help");
}

TEST_F(CheckExtrasTest, AnUnknownCommand) {
  Parse({"pan"});
  EXPECT_EQ(Message(CheckExtras(app_)), "pan: unknown command; did you mean plan?");
}

TEST_F(CheckExtrasTest, AnOptionWithItsValueAttached) {
  Parse({"plan", "--zzz=1"});
  EXPECT_EQ(Message(CheckExtras(*command_)), "--zzz: unknown option; see shardplan plan --help");
}

TEST(UsageErrorTest, RewritesWhatTheParserSays) {
  EXPECT_EQ(UsageError("--gpu: 1 required ID missing").ToString(),
            "--gpu: expected a value, found nothing");
  EXPECT_EQ(UsageError("Could not convert: --enforce-eager = maybe").ToString(),
            "--enforce-eager = maybe: expected a flag without a value, or true or false");
  EXPECT_EQ(UsageError("whatever").ToString(), "command line: whatever; see shardplan --help");
  EXPECT_EQ(UsageError("x").code, ErrorCode::kUsage);
}

}  // namespace
}  // namespace shardplan::cli
