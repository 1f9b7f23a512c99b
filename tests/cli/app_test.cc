// The program as a whole: exit codes, streams, files.
#include "cli/app.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "cli/exit_code.h"
#include "cli/run_program.h"

namespace shardplan::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using testing_support::CliData;
using testing_support::Outcome;
using testing_support::ReadText;
using testing_support::RunProgram;
using testing_support::RunScript;
using testing_support::TempDir;

constexpr char kPlan[] = "plan tiny-dense --gpu a10-24 --tp 2";

TEST(ExitCodeTest, OnePerKindOfError) {
  EXPECT_EQ(ExitCodeOf(ErrorCode::kUsage), 2);
  EXPECT_EQ(ExitCodeOf(ErrorCode::kInvalidInput), 3);
  EXPECT_EQ(ExitCodeOf(ErrorCode::kUnsupported), 3);
  EXPECT_EQ(ExitCodeOf(ErrorCode::kIo), 4);
  EXPECT_EQ(ExitCodeOf(ErrorCode::kInternal), 70);
}

TEST(AppTest, WithoutArgumentsThereIsHelpAndNoAnswer) {
  const Outcome outcome = RunProgram("");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, StartsWith("shardplan: does this sharded model fit on these cards, and "
                                      "what do I launch?\n\nExamples:\n"));
  EXPECT_THAT(outcome.err, HasSubstr("\nUsage: shardplan COMMAND [options]\n\nCommands:\n  plan "));
}

TEST(AppTest, HelpAndVersionAreAnswers) {
  Outcome outcome = RunProgram("--help");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(outcome.out, HasSubstr("Commands:\n"));
  outcome = RunProgram("--version");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, ::testing::MatchesRegex("shardplan [0-9]+\\.[0-9]+\\.[0-9]+\n"));
  outcome = RunProgram("plan -h");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("Usage: shardplan plan MODEL [options]\n"));
}

TEST(AppTest, UsageErrors) {
  const std::pair<const char*, const char*> cases[] = {
      {"plam x", "plam: unknown command; did you mean plan?"},
      {"xyz", "xyz: unknown command; see shardplan --help"},
      {"--foo", "--foo: unknown option; see shardplan --help"},
      {"plan",
       "MODEL: expected a model directory or file, found none; it comes right after the "
       "command: shardplan plan MODEL --gpu ID"},
      {"plan m --gpu", "--gpu: expected a value, found nothing"},
      {"plan m --gpu= --tp 8", "--gpu=: expected a value, found nothing"},
      {"plan m --gpu --tp 8", "--gpu: expected a value, found the option --tp"},
      {"plan m --gpu a10-24 --tp", "--tp: expected a value, found nothing"},
      {"plan m --gpu a10-24 --tp ''", "--tp: expected a value, found nothing"},
      {"plan m --gpu a10-24 --tp 8x", "--tp 8x: expected a whole number, at least 1"},
      {"plan m --gpu a10-24 --tp 0", "--tp 0: expected a whole number, at least 1"},
      {"plan m --gpu a10-24 --tp 8 --tp 4", "--tp: expected once, found 2 times"},
      {"plan m --tensor-paralel-size 8",
       "--tensor-paralel-size: unknown option; did you mean --tensor-parallel-size or "
       "--data-parallel-size?"},
      {"plan --max_model_len 8 m",
       "--max_model_len: unknown option; did you mean --max-model-len?"},
      {"plan m --max_model_len=8",
       "--max_model_len: unknown option; did you mean --max-model-len?"},
      {"plan m n --gpu a10-24", "n: unexpected argument; see shardplan plan --help"},
      {"plan m --enforce-eager=maybe",
       "--enforce-eager = maybe: expected a flag without a value, or true or false"},
      {"plan -- m --gpu", "--gpu: unexpected argument; see shardplan plan --help"},
      {"plan m --zebra tp=1,2", "--zebra: unknown option; see shardplan plan --help"},
      {"compare m",
       "compare: expected several variants, found one deployment; give --vary OPTION=A,B,… or "
       "--engine more than once"},
      {"compere m", "compere: unknown command; did you mean compare?"},
      {"inspekt m", "inspekt: unknown command; did you mean inspect?"},
  };
  for (const auto& [arguments, message] : cases) {
    const Outcome outcome = RunProgram(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments;
    EXPECT_EQ(outcome.out, "") << arguments;
    EXPECT_EQ(outcome.err, std::string("shardplan: error: ") + message + "\n") << arguments;
  }
}

TEST(AppTest, ErrorsStayOnOneLine) {
  const Outcome outcome = RunScript("shardplan plan $'a\\nb\\e[2J' --gpu a10-24");
  EXPECT_EQ(outcome.code, 4);
  EXPECT_EQ(outcome.err,
            "shardplan: error: a\\x0ab\\x1b[2J: cannot open: No such file or directory\n");
}

TEST(AppTest, AReaderThatGoesAwayIsNoError) {
  // The reader is gone before the first byte is written.
  const std::string script = std::string("set -o pipefail\n{ sleep 0.2; shardplan ") + kPlan;
  for (const char* rest : {"; } | true", "; } | head -c 1 >/dev/null"}) {
    const Outcome outcome = RunScript(script + rest, CliData());
    EXPECT_EQ(outcome.code, 0) << rest;
    EXPECT_EQ(outcome.err, "") << rest;
  }
  const Outcome illegal = RunScript(
      "set -o pipefail\n{ sleep 0.2; shardplan plan tiny-dense --gpu a10-24 --tp 3; } | true",
      CliData());
  EXPECT_EQ(illegal.code, 1);  // the verdict's code all the same
  EXPECT_EQ(illegal.err, "");
}

// An answer that nobody can get is a failure; closed stderr or stdin is none.
TEST(AppTest, ClosedStreams) {
  const Outcome lost = RunProgram(kPlan + std::string(" >&-"));
  EXPECT_EQ(lost.code, 4);
  EXPECT_EQ(lost.err,
            "shardplan: error: standard output: is closed; give it a reader, or -o FILE\n");
  EXPECT_EQ(RunProgram(kPlan + std::string(" >&- 2>&- <&-")).code, 4);
  for (const char* closed : {" 2>&-", " <&-"}) {
    const Outcome outcome = RunProgram(kPlan + std::string(closed));
    EXPECT_EQ(outcome.code, 0) << closed;
    EXPECT_EQ(outcome.err, "") << closed;
  }
}

TEST(AppTest, AClosedStdoutIsNotTakenByAFile) {
  const TempDir dir;
  const std::string file = dir.Path("answer");
  EXPECT_EQ(RunProgram(kPlan + std::string(" -o '") + file + "' >&-").code, 0);
  EXPECT_EQ(ReadText(file), RunProgram(kPlan).out);
}

TEST(AppTest, AFullDiskIsAnError) {
  const Outcome outcome = RunProgram(kPlan + std::string(" >/dev/full"));
  EXPECT_EQ(outcome.code, 4);
  EXPECT_EQ(outcome.err,
            "shardplan: error: standard output: cannot write: No space left on device\n");
}

TEST(AppTest, OutputFile) {
  const TempDir dir;
  const Outcome to_file = RunProgram(kPlan + std::string(" -o '") + dir.Path("my plan.txt") + "'");
  EXPECT_EQ(to_file.code, 0);
  EXPECT_EQ(to_file.out, "");
  EXPECT_EQ(to_file.err, "");
  const std::string text = ReadText(dir.Path("my plan.txt"));
  EXPECT_EQ(text, RunProgram(kPlan).out);
  EXPECT_EQ(text, RunProgram(kPlan + std::string(" -o -")).out);
  EXPECT_EQ(text, RunProgram(kPlan + std::string(" -o /dev/stdout")).out);
}

TEST(AppTest, UnwritableOutputFile) {
  const TempDir dir;
  const Outcome missing = RunProgram(kPlan + std::string(" -o '") + dir.Path("no/such/file") + "'");
  EXPECT_EQ(missing.code, 4);
  EXPECT_EQ(missing.out, "");
  EXPECT_EQ(missing.err, "shardplan: error: " + dir.Path("no/such/file") +
                             ": cannot write: No such file or directory\n");
  const Outcome directory = RunProgram(kPlan + std::string(" -o '") + dir.path() + "'");
  EXPECT_EQ(directory.code, 4);
  EXPECT_THAT(directory.err, HasSubstr("expected a file, found a directory"));
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

TEST(AppTest, NoColourInAPipeOrAFile) {
  EXPECT_THAT(RunProgram(kPlan).out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(RunScript(std::string("shardplan ") + kPlan + " | cat", CliData()).out,
              Not(HasSubstr("\x1b")));
}

TEST(AppTest, ColourOnATerminal) {
  const std::string line = "\"" SHARDPLAN_BINARY "\" " + std::string(kPlan);
  const auto on_terminal = [&](const std::string& before, const std::string& after) {
    return RunScript("command -v script >/dev/null || exit 77\nexport TERM=xterm\n" + before +
                         "script -qc '" + line + after + "' /dev/null",
                     CliData());
  };
  const Outcome coloured = on_terminal("", "");
  ASSERT_NE(coloured.code, 77) << "script(1), an essential package of Debian, makes the terminal";
  EXPECT_THAT(coloured.out, HasSubstr("\x1b[1;32mfits"));
  EXPECT_THAT(on_terminal("export NO_COLOR=1\n", "").out, Not(HasSubstr("\x1b[")));
  EXPECT_THAT(on_terminal("export TERM=dumb\n", "").out, Not(HasSubstr("\x1b[")));
  EXPECT_THAT(on_terminal("", " --no-color").out, Not(HasSubstr("\x1b[")));
  EXPECT_THAT(on_terminal("", " --format json").out, Not(HasSubstr("\x1b[")));
}

TEST(AppTest, VerboseDiagnosticsGoToStderr) {
  const Outcome outcome = RunProgram(kPlan + std::string(" -v --format json"));
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, StartsWith("{\n  \"schema_version\": 1,\n"));
  EXPECT_THAT(outcome.err, HasSubstr("model: 39 tensors in 0 shards, family dense\n"));
}

// A number that leaves 64 bits on the way is bad input, not a crash.
TEST(AppTest, OverflowIsBadInput) {
  const TempDir dir;
  std::string config = ReadText(CliData() + "/tiny-dense/config.json");
  const std::string width = "\"vocab_size\": 32000";
  config.replace(config.find(width), width.size(), "\"vocab_size\": 4000000000000000000");
  dir.Write("config.json", config);
  const Outcome outcome = RunScript("shardplan plan . --gpu a10-24", dir.path());
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
}

}  // namespace
}  // namespace shardplan::cli
