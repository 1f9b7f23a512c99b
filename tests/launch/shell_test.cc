#include "shardplan/launch/shell.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "support/temp_dir.h"

namespace shardplan {
namespace {

using testing_support::ReadText;
using testing_support::TempDir;

TEST(ShellQuoteTest, PlainWordsStayBare) {
  for (const char* word : {"vllm", "--tensor-parallel-size", "8", "48,45", "/models/Kimi-K3", "-1",
                           "a=b", "user@host:22", "100%", "a+b", "0.90"}) {
    EXPECT_EQ(ShellQuote(word), word);
  }
}

TEST(ShellQuoteTest, EverythingElseIsQuoted) {
  EXPECT_EQ(ShellQuote(""), "''");
  EXPECT_EQ(ShellQuote("my model"), "'my model'");
  EXPECT_EQ(ShellQuote("it's"), R"('it'\''s')");
  EXPECT_EQ(ShellQuote("$(reboot)"), "'$(reboot)'");
  EXPECT_EQ(ShellQuote("`id`"), "'`id`'");
  EXPECT_EQ(ShellQuote("~"), "'~'");
  EXPECT_EQ(ShellQuote("a\\b"), "'a\\b'");
  EXPECT_EQ(ShellQuote("<MASTER_ADDR>"), "'<MASTER_ADDR>'");
  EXPECT_EQ(ShellQuote("modèle"), "'modèle'");
  EXPECT_EQ(ShellQuote("{\"a\": 1}"), "'{\"a\": 1}'");
}

TEST(ShellQuoteTest, NothingRawThatATerminalMustNotSee) {
  EXPECT_EQ(ShellQuote("two\nlines"), R"($'two\nlines')");
  EXPECT_EQ(ShellQuote("\x1b[2J"), R"($'\x1b[2J')");
  EXPECT_EQ(ShellQuote("\xff"
                       "a"),
            R"($'\xffa')");
  EXPECT_EQ(ShellQuote("tab\t'\\"), R"($'tab\t\'\\')");
  EXPECT_EQ(ShellQuote("\xe2\x80\xae"), R"($'\xe2\x80\xae')");  // right-to-left override
}

LaunchPlan Example() {
  LaunchPlan launch;
  launch.env = {{"VLLM_PP_LAYER_PARTITION", "48,45"}, {"GLOO_SOCKET_IFNAME", "<INTERFACE>"}};
  launch.argv = {"vllm",
                 "serve",
                 "/my models/k3",
                 "--tensor-parallel-size",
                 "8",
                 "--max-len",
                 "-1",
                 "--master-addr",
                 "<MASTER_ADDR>",
                 "--headless",
                 "--numa-bind-nodes",
                 "0",
                 "1"};
  return launch;
}

TEST(RenderCommandTest, OneFlagALine) {
  EXPECT_EQ(RenderCommand(Example()),
            "VLLM_PP_LAYER_PARTITION=48,45 \\\n"
            "GLOO_SOCKET_IFNAME='<INTERFACE>' \\\n"
            "vllm serve '/my models/k3' \\\n"
            "  --tensor-parallel-size 8 \\\n"
            "  --max-len -1 \\\n"
            "  --master-addr '<MASTER_ADDR>' \\\n"
            "  --headless \\\n"
            "  --numa-bind-nodes 0 1");
}

TEST(RenderCommandTest, TheProgramIsNeverAnAssignmentOrAKeyword) {
  EXPECT_EQ(RenderCommand({0, {}, {"A=b", "c"}}), "'A=b' c");
  EXPECT_EQ(RenderCommand({0, {}, {"if"}}), "'if'");
  EXPECT_EQ(RenderCommand({0, {}, {"my vllm", "serve"}}), "'my vllm' serve");
  EXPECT_EQ(RenderCommand({}), "");
}

// Runs the text under bash with a program that records its words and one variable, each ended by a
// zero byte, and returns the record.
std::string Execute(const TempDir& dir, LaunchPlan launch) {
  const std::string stub =
      dir.Write("record it", "#!/bin/bash\nprintf '%s\\0' \"$VALUE\" \"$@\" > \"$RECORD\"\n");
  EXPECT_EQ(std::system(("chmod +x '" + stub + "'").c_str()), 0);
  const std::string record = dir.Path("record");
  testing_support::WriteText(record, "never ran");
  launch.argv.insert(launch.argv.begin(), stub);
  launch.env.emplace_back("RECORD", record);
  const std::string script = dir.Write("command.sh", RenderCommand(launch) + "\n");
  EXPECT_EQ(std::system(("bash -n '" + script + "'").c_str()), 0) << ReadText(script);
  EXPECT_EQ(std::system(("cd '" + dir.path() + "' && bash '" + script + "'").c_str()), 0)
      << ReadText(script);
  return ReadText(record);
}

TEST(RenderCommandTest, BashReadsBackEveryByte) {
  std::string all;  // every byte but zero, in one word
  for (int byte = 1; byte < 256; ++byte) all += static_cast<char>(byte);
  const std::vector<std::string> hostile = {"",
                                            " ",
                                            "it's",
                                            "\"quoted\"",
                                            "$(touch owned)",
                                            "`touch owned`",
                                            "$HOME",
                                            "*",
                                            "~",
                                            "!!",
                                            "a\nb",
                                            "a\\",
                                            "; touch owned",
                                            "-",
                                            "--",
                                            "--flag=a b",
                                            "<MASTER_ADDR>",
                                            "> owned",
                                            "& touch owned",
                                            "#comment",
                                            "{a,b}",
                                            "[a-z]*",
                                            "modèle-模型",
                                            "\x1b[31m",
                                            "\xff\xfe",
                                            "trailing ",
                                            "\t",
                                            "\r\n",
                                            "'",
                                            "''",
                                            "\\'",
                                            all};
  for (const std::string& word : hostile) {
    const TempDir dir;
    LaunchPlan launch;
    launch.env = {{"VALUE", word}};
    launch.argv = {word, "--flag", word, "end"};
    const std::string zero(1, '\0');
    EXPECT_EQ(Execute(dir, launch),
              word + zero + word + zero + "--flag" + zero + word + zero + "end" + zero);
    EXPECT_FALSE(std::filesystem::exists(dir.Path("owned"))) << word;
  }
}

}  // namespace
}  // namespace shardplan
