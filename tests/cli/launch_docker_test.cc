#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/launch_files.h"

namespace shardplan::cli {
namespace {

using testing::HasSubstr;
using testing_support::LaunchFiles;
using testing_support::TextOf;

TEST(LaunchDockerTest, WritesAContainerANode) {
  const Bundle files = LaunchFiles(
      "docker tiny-dense/config.json --gpu h20-96 --model-path /m --engine vllm@0.31.0 "
      "--shm-size 1GiB --memory none --pids-limit 77 --cpuset-cpus 0-3 --ipc private");
  const std::string common = TextOf(files, "common.sh");
  EXPECT_THAT(common, HasSubstr("--entrypoint vllm vllm/vllm-openai:v0.31.0"));
  EXPECT_THAT(common, HasSubstr("--shm-size 1073741824\n"));
  EXPECT_THAT(common, HasSubstr("--pids-limit 77\n"));
  EXPECT_THAT(common, HasSubstr("--cpuset-cpus 0-3\n"));
  EXPECT_THAT(common, testing::Not(HasSubstr("--memory ")));
  EXPECT_THAT(TextOf(files, "README.md"), HasSubstr("pin it with\n  --image-digest"));
}

TEST(LaunchDockerTest, RefusesAnImageThatIsAnOption) {
  const auto outcome = testing_support::RunProgram(
      "launch docker tiny-dense/config.json --gpu h20-96 --image=-v --model-path /m");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("expected NAME:TAG"));
}

}  // namespace
}  // namespace shardplan::cli
