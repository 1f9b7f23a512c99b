#include <gtest/gtest.h>

#include <filesystem>

#include "cli/run_program.h"

namespace shardplan::cli {
namespace {

using testing_support::Outcome;
using testing_support::ReadText;
using testing_support::RunProgram;
using testing_support::RunScript;
using testing_support::TempDir;

constexpr const char* kDeployment =
    " --gpu h20-96 --pp 2 --gpus-per-node 1 --max-model-len 256 --max-num-seqs 1";

TEST(LaunchFilesTest, ListsThatRsyncReads) {
  const TempDir dir;
  const Outcome outcome =
      RunScript("shardplan standin '" + testing_support::CliData() +
                    "/tiny-moe/config.json' 'a b' >/dev/null"
                    " && shardplan launch files 'a b' --repo owner/name -o out" +
                    kDeployment,
                dir.path());
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::string list = ReadText(dir.Path("out/node-0.files"));
  EXPECT_NE(list.find(".safetensors\n"), std::string::npos) << list;
  EXPECT_NE(list.find("config.json\n"), std::string::npos) << list;
  const std::string script = ReadText(dir.Path("out/node-1.download.sh"));
  EXPECT_NE(script.find("\ndir=${1:?expected"), std::string::npos) << script;
  EXPECT_EQ(RunScript("bash -n out/node-1.download.sh", dir.path()).code, 0);
  const Outcome lint = RunScript(
      "! command -v shellcheck >/dev/null || shellcheck out/node-1.download.sh", dir.path());
  EXPECT_EQ(lint.code, 0) << lint.out;
  EXPECT_TRUE(std::filesystem::exists(dir.Path("out/FILES.md")));
  EXPECT_TRUE(std::filesystem::exists(dir.Path("out/plan.json")));
}

TEST(LaunchFilesTest, PrintsAndRefuses) {
  const TempDir dir;
  ASSERT_EQ(RunScript("shardplan standin '" + testing_support::CliData() +
                          "/tiny-moe/config.json' m >/dev/null",
                      dir.path())
                .code,
            0);
  const Outcome printed =
      RunScript("shardplan launch files m" + std::string(kDeployment), dir.path());
  EXPECT_EQ(printed.code, 0) << printed.err;
  EXPECT_TRUE(printed.out.starts_with("==> node-0.files <==\n")) << printed.out;
  EXPECT_EQ(printed.out.find("download.sh"), std::string::npos);
  const Outcome repo =
      RunScript("shardplan launch files m --repo 'a b'" + std::string(kDeployment), dir.path());
  EXPECT_EQ(repo.code, 2);
  EXPECT_NE(repo.err.find("--repo a b: expected a repository of the hub as OWNER/NAME"),
            std::string::npos)
      << repo.err;
  EXPECT_EQ(RunProgram("launch files tiny-moe/config.json" + std::string(kDeployment)).code, 3);
}

}  // namespace
}  // namespace shardplan::cli
