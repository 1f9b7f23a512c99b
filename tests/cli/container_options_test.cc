#include "cli/container_options.h"

#include <gtest/gtest.h>

#include <CLI/App.hpp>
namespace shardplan::cli {
namespace {

struct ParsedContainer {
  ContainerOptions options;
  bool good = false;
};

ParsedContainer ParseContainer(std::vector<std::string> arguments) {
  ParsedContainer out;
  CLI::App app;
  OptionSet set(&app);
  AddContainerOptions(&set, &out.options);
  std::reverse(arguments.begin(), arguments.end());
  app.parse(std::move(arguments));
  out.good = set.status().has_value();
  return out;
}

TEST(ContainerOptionsTest, AreRead) {
  const ParsedContainer parsed =
      ParseContainer({"--image",  "a:b",  "--image-digest", "sha256:x", "--stage-index", "/s",
                      "--mount",  "/a",   "--mount",        "/b",       "--shm-size",    "1MiB",
                      "--ipc",    "host", "--cpuset-cpus",  "0-1",      "--cpuset-mems", "0",
                      "--memory", "2GiB", "--pids-limit",   "3"});
  EXPECT_TRUE(parsed.good);
  const ContainerOptions& o = parsed.options;
  EXPECT_EQ(o.image, "a:b");
  EXPECT_EQ(o.image_digest, "sha256:x");
  EXPECT_EQ(o.stage_index, "/s");
  EXPECT_EQ(o.mounts, (std::vector<std::string>{"/a", "/b"}));
  EXPECT_EQ(o.shm_size, Bytes(1 << 20));
  EXPECT_EQ(o.ipc, "host");
  EXPECT_EQ(o.cpuset_cpus, "0-1");
  EXPECT_EQ(o.cpuset_mems, "0");
  EXPECT_EQ(o.memory, Bytes(int64_t{2} << 30));
  EXPECT_TRUE(o.limit_memory);
  EXPECT_EQ(o.pids_limit, 3);
}

TEST(ContainerOptionsTest, NoLimitAndNoUnit) {
  EXPECT_FALSE(ParseContainer({"--memory", "none"}).options.limit_memory);
  EXPECT_FALSE(ParseContainer({"--memory", "12"}).good);
  EXPECT_FALSE(ParseContainer({"--shm-size", "12"}).good);
  EXPECT_FALSE(ParseContainer({"--pids-limit", "0"}).good);
}

}  // namespace
}  // namespace shardplan::cli
