#include "shardplan/launch/bundle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "support/temp_dir.h"

namespace shardplan {
namespace {

namespace fs = std::filesystem;
using testing_support::ReadText;
using testing_support::TempDir;

TEST(WriteBundleTest, WritesFilesBelowANewDirectory) {
  const TempDir dir;
  const std::string target = dir.Path("de ploy");
  ASSERT_TRUE(
      WriteBundle({{{"node-0.sh", "a\n", true}, {"stage-0/index.json", "{}", false}}}, target));
  EXPECT_EQ(ReadText(target + "/node-0.sh"), "a\n");
  EXPECT_EQ(ReadText(target + "/stage-0/index.json"), "{}");
  const auto runs = [&](const char* name) {
    return (fs::status(target + name).permissions() & fs::perms::owner_exec) != fs::perms::none;
  };
  EXPECT_TRUE(runs("/node-0.sh"));
  EXPECT_FALSE(runs("/stage-0/index.json"));
}

TEST(WriteBundleTest, LeavesNothingBehindWhereOneFileFails) {
  const TempDir dir;
  const auto entries = [&] {
    return std::distance(fs::directory_iterator(dir.path()), fs::directory_iterator());
  };
  for (const char* path : {"../x", "/x", "a/../x", "a//b", "", ".", "a/"}) {
    EXPECT_FALSE(WriteBundle({{{"fine", "1"}, {path, "2"}}}, dir.Path("out"))) << path;
    EXPECT_EQ(entries(), 0) << path;
  }
  EXPECT_FALSE(WriteBundle({{{"same", "1"}, {"same", "2"}}}, dir.Path("out")));
  EXPECT_EQ(entries(), 0);
}

TEST(WriteBundleTest, RefusesADirectoryThatHoldsSomething) {
  const TempDir dir;
  dir.Write("out/mine", "keep");
  const Status status = WriteBundle({{{"a", "1"}}}, dir.Path("out"));
  ASSERT_FALSE(status);
  EXPECT_EQ(ReadText(dir.Path("out/mine")), "keep");
  EXPECT_FALSE(fs::exists(dir.Path("out/a")));
}

TEST(RenderBundleTest, NamesEveryFile) {
  EXPECT_EQ(RenderBundle({{{"a", "1\n"}, {"b/\x1b[2J", "2"}}}),
            "==> a <==\n1\n\n==> b/\\x1b[2J <==\n2\n");
}

}  // namespace
}  // namespace shardplan
