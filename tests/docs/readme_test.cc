// The README's runs, run.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "support/temp_dir.h"

namespace shardplan {
namespace {

using testing_support::ReadText;
using testing_support::TempDir;

// One ```console block: the command after "$ " (continued by backslashes) and the lines shown.
struct Example {
  std::string command;
  std::vector<std::string> shown;
};

std::vector<Example> ConsoleBlocks(const std::string& markdown) {
  std::vector<Example> runs;
  std::istringstream in(markdown);
  bool inside = false;
  bool command = false;
  for (std::string line; std::getline(in, line);) {
    if (line == "```console") {
      inside = true;
      continue;
    }
    if (line == "```") inside = false;
    if (!inside) continue;
    if (line.starts_with("$ ")) {
      runs.push_back({line.substr(2), {}});
      command = line.ends_with('\\');
    } else if (command) {
      runs.back().command += "\n" + line;
      command = line.ends_with('\\');
    } else if (!runs.empty()) {
      runs.back().shown.push_back(line);
    }
  }
  return runs;
}

std::string Output(const std::string& command) {
  std::string output;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  EXPECT_NE(pipe, nullptr);
  std::array<char, 4096> buffer;
  while (size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    output.append(buffer.data(), n);
  }
  const int status = ::pclose(pipe);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) <= 1) << command << "\n" << output;
  return output;
}

// Shown lines appear in the output in order; "…" alone on a line stands for what is left out, and
// only there may lines be skipped.
void ExpectShown(const Example& run, const std::string& output) {
  std::vector<std::string> lines;
  std::istringstream in(output);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  size_t at = 0;
  bool gap = false;
  for (const std::string& want : run.shown) {
    if (want == "…") {
      gap = true;
      continue;
    }
    while (gap && at < lines.size() && lines[at] != want) ++at;
    ASSERT_LT(at, lines.size()) << "not printed: " << want << "\n" << run.command;
    ASSERT_EQ(lines[at], want) << run.command;
    ++at;
    gap = false;
  }
}

TEST(Readme, ShowsWhatIsPrinted) {
  TempDir dir;
  std::filesystem::current_path(dir.path());
  std::filesystem::create_directory_symlink(std::string(SHARDPLAN_SOURCE) + "/examples",
                                            "examples");
  std::filesystem::create_directory("build");
  std::filesystem::create_directory("bin");
  std::filesystem::create_symlink(SHARDPLAN_BINARY, "bin/shardplan");
  const std::string path = std::string(::getenv("PATH"));
  ::setenv("PATH", (dir.path() + "/bin:" + path).c_str(), 1);
  const std::vector<Example> runs =
      ConsoleBlocks(ReadText(std::string(SHARDPLAN_SOURCE) + "/README.md"));
  ASSERT_GE(runs.size(), 2u);
  for (const Example& run : runs) ExpectShown(run, Output(run.command));
  std::filesystem::current_path("/");
}

}  // namespace
}  // namespace shardplan
