// Runs the scripts of a bundle among programs that only write down how they were called.
#ifndef SHARDPLAN_TESTS_LAUNCH_RUN_BUNDLE_H_
#define SHARDPLAN_TESTS_LAUNCH_RUN_BUNDLE_H_

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "shardplan/launch/bundle.h"
#include "shardplan/launch/shell.h"
#include "support/temp_dir.h"

namespace shardplan::testing_support {

// How a program was called.
struct Call {
  std::vector<std::string> argv;  // its name first, without directories
  std::map<std::string, std::string> env;
};

struct BundleRun {
  int code = -1;
  std::string out;
  std::string err;
  std::vector<Call> calls;  // in order
};

inline std::vector<std::string> SplitAtZero(const std::string& text) {
  std::vector<std::string> out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\0', begin), text.size());
    out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

class BundleWorld {
 public:
  // The bundle lies in a directory whose name needs quotes.
  explicit BundleWorld(const Bundle& bundle) : directory_(dir_.Path("it's $(here)")) {
    EXPECT_TRUE(WriteBundle(bundle, directory_));
    for (const char* name : {"vllm", "python3", "docker", "ray"}) AddStub(name, "");
    AddProgram("nvidia-smi", "for i in 0 1 2 3 4 5 6 7; do echo $i; done");
  }

  const std::string& directory() const { return directory_; }

  // A program on PATH.
  void AddProgram(const std::string& name, const std::string& body) {
    const std::string path = dir_.Write("bin/" + name, "#!/bin/bash\n" + body + "\n");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }
  // One that writes down how it is called, then runs `body`.
  void AddStub(const std::string& name, const std::string& body) {
    AddProgram(name,
               "shopt -s nullglob\ncalls=(\"$RECORD\"/*.argv)\n"
               "at=\"$RECORD/$(printf '%03d' \"${#calls[@]}\")\"\n"
               "printf '%s\\0' \"${0##*/}\" \"$@\" > \"$at.argv\"\nenv -0 > \"$at.env\"\n" +
                   body);
  }
  void RemoveProgram(const std::string& name) { std::filesystem::remove(dir_.Path("bin/" + name)); }

  // Runs `script` of the bundle with nothing in the environment but PATH and `env`.
  BundleRun Run(const std::string& script, const std::vector<std::string>& arguments = {},
                const std::map<std::string, std::string>& env = {}) {
    std::filesystem::remove_all(dir_.Path("calls"));
    dir_.MakeDir("calls");
    std::string command = "ulimit -l unlimited 2>/dev/null; cd / && env -i PATH=" +
                          ShellQuote(dir_.Path("bin") + ":/usr/bin:/bin") +
                          " RECORD=" + ShellQuote(dir_.Path("calls"));
    for (const auto& [name, value] : env) command += " " + name + "=" + ShellQuote(value);
    command += " " + ShellQuote(directory_ + "/" + script);
    for (const std::string& argument : arguments) command += " " + ShellQuote(argument);
    command += " >" + ShellQuote(dir_.Path("out")) + " 2>" + ShellQuote(dir_.Path("err")) +
               " </dev/null\n";
    const std::string runner = dir_.Write("runner", command);
    const int status = std::system(("bash '" + runner + "'").c_str());
    BundleRun run{WIFEXITED(status) ? WEXITSTATUS(status) : -1,
                  ReadText(dir_.Path("out")),
                  ReadText(dir_.Path("err")),
                  {}};
    for (int i = 0;; ++i) {
      const std::string at = dir_.Path(fmt::format("calls/{:03}", i));
      if (!std::filesystem::exists(at + ".argv")) break;
      Call call;
      call.argv = SplitAtZero(ReadText(at + ".argv"));
      for (const std::string& line : SplitAtZero(ReadText(at + ".env"))) {
        const size_t equals = line.find('=');
        call.env[line.substr(0, equals)] = line.substr(equals + 1);
      }
      run.calls.push_back(std::move(call));
    }
    return run;
  }

  // `bash -n` on every script.
  void ExpectParses() const {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_)) {
      const std::string kind = entry.path().extension();
      if (!entry.is_regular_file() || (kind != ".sh" && kind != ".sbatch")) continue;
      const std::string command = "bash -n " + ShellQuote(entry.path().string());
      EXPECT_EQ(std::system(command.c_str()), 0) << entry.path();
    }
  }

  // What shellcheck says of all scripts, from elsewhere, with and without leave to follow what they
  // source; empty where it is content. SC2016 and SC1003 only wonder whether a literal "$" or "\\"
  // is meant: words from outside hold them.
  std::string Shellcheck() const {
    const std::string command =
        "cd / && for x in '' -x; do for f in " + ShellQuote(directory_) +
        "/*.{sh,sbatch}; do [[ ! -e $f ]] || shellcheck $x -e SC2016,SC1003 \"$f\"; done; done >" +
        ShellQuote(dir_.Path("shellcheck")) + " 2>&1";
    static_cast<void>(std::system(("bash -c " + ShellQuote(command)).c_str()));
    return ReadText(dir_.Path("shellcheck"));
  }

 private:
  TempDir dir_;
  std::string directory_;
};

inline bool HasShellcheck() { return std::system("command -v shellcheck >/dev/null") == 0; }

}  // namespace shardplan::testing_support

// Skips the rest of a test, and says so, where there is no shellcheck.
#define SHARDPLAN_NEED_SHELLCHECK()                                     \
  if (!::shardplan::testing_support::HasShellcheck()) {                 \
    GTEST_SKIP() << "shellcheck is not installed (Debian: shellcheck)"; \
  }

#endif  // SHARDPLAN_TESTS_LAUNCH_RUN_BUNDLE_H_
