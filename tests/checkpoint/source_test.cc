#include "checkpoint/source.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/temp_dir.h"

namespace shardplan {
namespace {

using testing_support::TempDir;

std::string SourceError(const std::string& path) {
  const auto source = LocateCheckpoint(path);
  if (source) return "no error";
  return source.error().message + "; " + source.error().hint;
}

TEST(SourceTest, FindsTheFilesOfADirectory) {
  const TempDir dir;
  for (const char* name : {"b.safetensors", "a.safetensors", "._a.safetensors", "README.md",
                           "a.safetensors.bak", "config.json", "hf_quant_config.json",
                           "model.safetensors.index.json", "other.safetensors.index.json"}) {
    dir.Write(name, "");
  }
  const auto source = LocateCheckpoint(dir.path());
  ASSERT_TRUE(source) << source.error().ToString();
  EXPECT_EQ(source->kind, SourceKind::kDirectory);
  EXPECT_EQ(source->directory, dir.path());
  EXPECT_EQ(source->config_path, dir.Path("config.json"));
  EXPECT_EQ(source->quant_config_path, dir.Path("hf_quant_config.json"));
  EXPECT_EQ(source->index_path, dir.Path("model.safetensors.index.json"));
  EXPECT_EQ(source->shards, (std::vector<std::string>{"a.safetensors", "b.safetensors"}));
}

TEST(SourceTest, TakesTheOnlyIndexThereIs) {
  const TempDir dir;
  dir.Write("weird.safetensors.index.json", "");
  dir.Write("pytorch_model.bin.index.json", "");
  EXPECT_EQ(LocateCheckpoint(dir.path())->index_path, dir.Path("weird.safetensors.index.json"));
  dir.Write("second.safetensors.index.json", "");
  EXPECT_EQ(SourceError(dir.path()),
            "expected one index, found 2: second.safetensors.index.json, "
            "weird.safetensors.index.json; give the path of the one that is meant");
}

TEST(SourceTest, ConfigAlone) {
  const TempDir dir;
  dir.Write("config.json", "{}");
  const auto source = LocateCheckpoint(dir.path());
  ASSERT_TRUE(source);
  EXPECT_EQ(source->kind, SourceKind::kConfig);
  EXPECT_EQ(source->config_path, dir.Path("config.json"));
  EXPECT_EQ(source->quant_config_path, "");
}

TEST(SourceTest, NamedFiles) {
  const TempDir dir;
  dir.Write("one.safetensors", "");
  dir.Write("two.safetensors", "");
  dir.Write("x.safetensors.index.json", "");
  auto source = LocateCheckpoint(dir.Path("one.safetensors"));
  ASSERT_TRUE(source);
  EXPECT_EQ(source->kind, SourceKind::kSingleShard);
  EXPECT_EQ(source->directory, dir.path());
  EXPECT_EQ(source->shards, (std::vector<std::string>{"one.safetensors"}));
  EXPECT_EQ(source->config_path, "");

  dir.Write("config.json", "{}");
  EXPECT_EQ(LocateCheckpoint(dir.Path("one.safetensors"))->config_path, dir.Path("config.json"));

  source = LocateCheckpoint(dir.Path("x.safetensors.index.json"));
  ASSERT_TRUE(source);
  EXPECT_EQ(source->kind, SourceKind::kIndex);
  EXPECT_EQ(source->shards.size(), 2u);

  const std::string other = dir.Write("my config.json", "{}");
  source = LocateCheckpoint(other);
  ASSERT_TRUE(source);
  EXPECT_EQ(source->kind, SourceKind::kConfig);
  EXPECT_EQ(source->config_path, other);
  EXPECT_TRUE(source->shards.empty());
}

TEST(SourceTest, RelativePaths) {
  const TempDir dir;
  dir.Write("m/one.safetensors", "");
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(dir.Path("m"));
  const auto shard = LocateCheckpoint("one.safetensors");
  const auto directory = LocateCheckpoint("../m/");
  std::filesystem::current_path(before);
  ASSERT_TRUE(shard && directory);
  EXPECT_EQ(shard->directory, ".");
  EXPECT_EQ(directory->shards.size(), 1u);
}

TEST(SourceTest, RefusesWhatIsNoModel) {
  const TempDir dir;
  EXPECT_EQ(LocateCheckpoint(dir.Path("none")).error().ToString(),
            dir.Path("none") + ": cannot open: No such file or directory");
  EXPECT_EQ(LocateCheckpoint(dir.Path("none")).error().code, ErrorCode::kIo);
  EXPECT_EQ(SourceError(dir.path()),
            "expected a config.json or .safetensors files, found an empty directory; check the "
            "path");
  dir.Write("notes.txt", "");
  EXPECT_EQ(SourceError(dir.path()),
            "expected a config.json or .safetensors files, found 1 other entry; check the path");
  EXPECT_EQ(SourceError(dir.Path("notes.txt")),
            "expected a model directory, a model.safetensors.index.json, a .safetensors file or a "
            "config.json, found a file named otherwise; ");
  dir.Write("model.gguf", "");
  EXPECT_EQ(SourceError(dir.path()),
            "expected a config.json or .safetensors files, found 2 other entries; only safetensors "
            "weights are read");
  dir.MakeDir("snapshots");
  EXPECT_EQ(SourceError(dir.path()),
            "expected a config.json or .safetensors files, found 3 other entries; this is a "
            "repository of the Hugging Face cache; give one of the folders in snapshots/");
  ASSERT_EQ(::mkfifo(dir.Path("pipe.safetensors").c_str(), 0600), 0);
  EXPECT_EQ(SourceError(dir.Path("pipe.safetensors")),
            "expected a model directory, a model.safetensors.index.json, a .safetensors file or a "
            "config.json, found a special file; ");
  std::filesystem::create_symlink("loop", dir.Path("loop"));
  EXPECT_EQ(SourceError(dir.Path("loop")), "cannot open: Too many levels of symbolic links; ");
}

TEST(SourceTest, Presence) {
  const TempDir dir;
  dir.Write("there", "");
  std::filesystem::create_symlink("there", dir.Path("good"));
  std::filesystem::create_symlink("gone", dir.Path("dangling"));
  std::filesystem::create_symlink("loop", dir.Path("loop"));
  EXPECT_TRUE(*IsPresent(dir.Path("there")));
  EXPECT_TRUE(*IsPresent(dir.Path("good")));
  EXPECT_FALSE(*IsPresent(dir.Path("none")));
  EXPECT_FALSE(*IsPresent(dir.Path("dangling")));
  ASSERT_FALSE(IsPresent(dir.Path("loop")));
  EXPECT_EQ(IsPresent(dir.Path("loop")).error().code, ErrorCode::kIo);
}

}  // namespace
}  // namespace shardplan
