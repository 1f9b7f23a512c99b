#include "cli/container_options.h"

#include <gtest/gtest.h>

#include <CLI/App.hpp>
namespace shardplan::cli {
namespace {

struct Parsed {
  ContainerOptions options;
  bool good = false;
};

Parsed Parse(std::vector<std::string> arguments) {
  Parsed out;
  CLI::App app;
  OptionSet set(&app);
  AddContainerOptions(&set, &out.options);
  std::reverse(arguments.begin(), arguments.end());
  app.parse(std::move(arguments));
  out.good = set.status().has_value();
  return out;
}

TEST(ContainerOptionsTest, AreRead) {
  const Parsed parsed =
      Parse({"--image",  "a:b",  "--image-digest", "sha256:x", "--stage-index", "/s",
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
  EXPECT_FALSE(Parse({"--memory", "none"}).options.limit_memory);
  EXPECT_FALSE(Parse({"--memory", "12"}).good);
  EXPECT_FALSE(Parse({"--shm-size", "12"}).good);
  EXPECT_FALSE(Parse({"--pids-limit", "0"}).good);
}

}  // namespace
}  // namespace shardplan::cli
