#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/launch_files.h"

namespace shardplan::cli {
namespace {

using testing::HasSubstr;
using testing_support::LaunchFiles;
using testing_support::TextOf;

TEST(LaunchComposeTest, WritesAFileANode) {
  const Bundle files = LaunchFiles(
      "compose tiny-dense/config.json --gpu h20-96 --gpus-per-node 1 --pp 2 --engine sglang");
  const std::string text = TextOf(files, "node-1/compose.yaml");
  EXPECT_THAT(text, HasSubstr("\nname: tiny-dense\nservices:\n  sglang:\n"));
  EXPECT_THAT(text, HasSubstr("SGLANG_HOST_IP: \"${SGLANG_HOST_IP:?"));
  EXPECT_THAT(text, HasSubstr("source: \"${MODEL_PATH:?"));
}

TEST(LaunchComposeTest, HasNoWordForMemoryNodes) {
  const auto outcome = testing_support::RunProgram(
      "launch compose tiny-dense/config.json --gpu h20-96 --cpuset-mems 0");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("launch docker"));
}

}  // namespace
}  // namespace shardplan::cli
