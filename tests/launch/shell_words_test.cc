#include "launch/shell_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shardplan/launch/shell.h"

namespace shardplan {
namespace {

using ::testing::ElementsAre;

// The words of all commands, commands apart by "/", words that expand with a mark.
std::string Split(std::string_view text) {
  const auto commands = SplitShell(text);
  if (!commands) return "error: " + commands.error().ToString();
  std::string out;
  for (const auto& words : *commands) {
    if (!out.empty()) out += " / ";
    for (size_t i = 0; i < words.size(); ++i) {
      out += (i == 0 ? "[" : " [") + words[i].text + (words[i].expands ? "]*" : "]");
    }
  }
  return out;
}

TEST(ShellWordsTest, QuotesAndBackslashes) {
  EXPECT_EQ(Split("a  b\tc"), "[a] [b] [c]");
  EXPECT_EQ(Split("a'b c'd \"e f\" \\ g ''"), "[ab cd] [e f] [ g] []");
  EXPECT_EQ(Split(R"("a\"b\\c\d" 'x"y\')"), R"([a"b\c\d] [x"y\])");
  EXPECT_EQ(Split(R"('{"method":"mtp"}' "{\"n\": 3}")"), R"([{"method":"mtp"}] [{"n": 3}])");
  EXPECT_EQ(Split(R"($'a\tb\x41\'\101\q')"), "[a\tbA'A\\q]");
  EXPECT_EQ(Split(""), "");
}

TEST(ShellWordsTest, LinesCommentsAndCommands) {
  EXPECT_EQ(Split("a \\\n  b \\\r\n c"), "[a] [b] [c]");
  EXPECT_EQ(Split("a\\\nb \"c\\\nd\""), "[ab] [cd]");
  EXPECT_EQ(Split("# one\na b # two\n\nc;d && e#f"), "[a] [b] / [c] / [d] / [e#f]");
}

TEST(ShellWordsTest, WhatAShellWouldReplaceIsMarked) {
  EXPECT_EQ(Split("$A x$B \"$C\" '$D' ${E:-x} \\$F ~/g a~ $ $1"),
            "[$A]* [x$B]* [$C]* [$D] [${E:-x}]* [$F] [~/g]* [a~] [$] [$1]*");
}

TEST(ShellWordsTest, WhereOutputGoesIsDropped) {
  for (const char* text :
       {"a b | tee log", "a b > log", "a b >log 2>&1", "a b 2>&1 | tee -a log", "a b &> log &",
        "a b >> 'a log' &", "a 2>/dev/null b", "a b |& tee log", "a b 2>&1 | ts | tee log"}) {
    EXPECT_EQ(Split(text), "[a] [b]") << text;
  }
  EXPECT_EQ(Split("a & b 2 > log; c2>x"), "[a] / [b] [2] / [c2]");
  EXPECT_EQ(Split("a '>' \\> b"), "[a] [>] [>] [b]");
  EXPECT_EQ(Split("a b > log c"), "[a] [b] [c]");
  EXPECT_EQ(Split("a >"), "error: command: ends in a redirection");
  EXPECT_EQ(Split("a > ; b"), "error: command: ends in a redirection");
}

TEST(ShellWordsTest, WhatOnlyAShellCanDoIsRefused) {
  EXPECT_EQ(Split("a | xargs vllm"),
            "error: command: holds a shell's '|' outside quotes; give the command that serves "
            "alone");
  EXPECT_EQ(Split("a || b"),
            "error: command: holds a shell's '|' outside quotes; give the command that serves "
            "alone");
  EXPECT_EQ(Split("a > >(tee log)"),
            "error: command: holds a shell's '>' outside quotes; leave it out, and quote "
            "placeholders");
  EXPECT_EQ(Split("a --master-addr <IP>"),
            "error: command: holds a shell's '<' outside quotes; leave it out, and quote "
            "placeholders");
  for (const char* text : {"a $(b)", "a `b`", "\"$(b)\"", "\"`b`\""}) {
    EXPECT_EQ(Split(text), "error: command: holds a command substitution; write what it gives");
  }
}

TEST(ShellWordsTest, HostileText) {
  EXPECT_EQ(Split("a 'b"), "error: command: a ' is not closed");
  EXPECT_EQ(Split("a \"b"), "error: command: a \" is not closed");
  EXPECT_EQ(Split("a $'b"), "error: command: a $' is not closed");
  EXPECT_EQ(Split("a ${b"), "error: command: a ${ is not closed");
  EXPECT_EQ(Split("a\\"), "error: command: ends in a backslash");
  EXPECT_EQ(Split(std::string_view("a\0b", 3)), "error: command: holds a zero byte");
  EXPECT_EQ(Split(R"($'\0')"), "error: command: holds a zero byte");
  EXPECT_EQ(Split(std::string((1 << 20) + 1, 'a')), "error: command: longer than 1 MiB");
  EXPECT_EQ(Split("\xff\xfe"), "[\xff\xfe]");
}

TEST(ShellWordsTest, ReadsBackWhatShellQuoteWrites) {
  const std::string words[] = {"plain",
                               "",
                               "a b",
                               "it's",
                               "$x",
                               "`y`",
                               "<MASTER_ADDR>",
                               "a\nb\t\x01\xff",
                               "~",
                               "#c",
                               "\\",
                               "{\"a\": [1, 2]}",
                               "\x1b[31m'\"",
                               "é"};
  std::string line;
  for (const std::string& word : words) line += ShellQuote(word) + " ";
  const auto commands = SplitShell(line);
  ASSERT_TRUE(commands.has_value()) << commands.error().ToString();
  ASSERT_EQ(commands->size(), 1U);
  ASSERT_EQ((*commands)[0].size(), std::size(words));
  for (size_t i = 0; i < std::size(words); ++i) {
    EXPECT_EQ((*commands)[0][i].text, words[i]);
    EXPECT_FALSE((*commands)[0][i].expands) << words[i];
  }
}

}  // namespace
}  // namespace shardplan
