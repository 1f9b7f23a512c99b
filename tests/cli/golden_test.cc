// Whole runs, word for word: tests/data/cli/golden/<case>.txt begins with the command ("$ …") and
// goes on with what it prints and how it ends. UPDATE_GOLDEN=1 writes the files anew.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/run_program.h"

namespace shardplan::cli {
namespace {

using testing_support::CliData;
using testing_support::ReadText;

std::vector<std::string> Cases() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(CliData() + "/golden")) {
    names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class GoldenTest : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenTest, PrintsWhatItPrinted) {
  const std::string path = CliData() + "/golden/" + GetParam() + ".txt";
  const std::string golden = ReadText(path);
  ASSERT_TRUE(golden.starts_with("$ ")) << path;
  const std::string command = golden.substr(2, golden.find('\n') - 2);
  const testing_support::Outcome outcome = testing_support::RunScript(command, CliData());
  std::string text = "$ " + command + "\n" + outcome.out;
  if (!outcome.err.empty()) text += "[stderr]\n" + outcome.err;
  text += "[exit " + std::to_string(outcome.code) + "]\n";
  if (std::getenv("UPDATE_GOLDEN") != nullptr) testing_support::WriteText(path, text);
  EXPECT_EQ(text, ReadText(path));
}

INSTANTIATE_TEST_SUITE_P(Cli, GoldenTest, ::testing::ValuesIn(Cases()),
                         [](const auto& param) { return param.param; });

}  // namespace
}  // namespace shardplan::cli
