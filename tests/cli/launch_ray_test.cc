#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/launch_files.h"

namespace shardplan::cli {
namespace {

using testing::HasSubstr;
using testing_support::LaunchFiles;
using testing_support::TextOf;

TEST(LaunchRayTest, WritesAHeadAndWorkers) {
  const Bundle files = LaunchFiles(
      "ray tiny-dense/config.json --gpu h20-96 --gpus-per-node 1 --pp 2 --model-path /m");
  EXPECT_THAT(TextOf(files, "head.sh"), HasSubstr("\nstart_head\n"));
  EXPECT_THAT(TextOf(files, "worker-1.sh"), HasSubstr("\nstart_worker\n"));
  EXPECT_THAT(TextOf(files, "common.sh"), HasSubstr("--distributed-executor-backend ray"));
  EXPECT_THAT(TextOf(files, "README.md"), HasSubstr("`ray stop`"));
}

TEST(LaunchRayTest, RefusesSglang) {
  const auto outcome =
      testing_support::RunProgram("launch ray tiny-dense/config.json --gpu h20-96 --engine sglang");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("expected vLLM, found SGLang"));
}

}  // namespace
}  // namespace shardplan::cli
