#include "shardplan/base/config_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "shardplan/base/file.h"
#include "shardplan/base/units.h"
#include "support/temp_dir.h"

namespace shardplan {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing_support::TempDir;

std::string OverridesError(const std::string& directory) {
  const Result<ConfigStore> store = ConfigStore::WithOverrides(directory);
  return store ? "loaded" : store.error().ToString();
}

TEST(ConfigStoreTest, HoldsEveryFileOfTheRepositoryByteForByte) {
  const std::string root = SHARDPLAN_SOURCE "/configs";
  const ConfigStore store = ConfigStore::BuiltIn();
  size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    const std::filesystem::path& path = entry.path();
    if (path.extension() != ".yaml" && path.extension() != ".tsv") continue;
    ++count;
    const std::string name = path.lexically_relative(root).string();
    const Result<std::string_view> text = store.Get(name);
    ASSERT_TRUE(text) << text.error().ToString();
    EXPECT_TRUE(*text == *ReadTextFile(path.string(), Bytes(kGiB))) << name;
    EXPECT_EQ(store.Origin(name), "built in");
  }
  EXPECT_EQ(store.List("").size(), count);
  EXPECT_GT(count, 26U);
}

TEST(ConfigStoreTest, ListsByPrefixSorted) {
  const std::vector<std::string> names = ConfigStore::BuiltIn().List("gpus/");
  EXPECT_THAT(names, Contains("gpus/h20-96.yaml"));
  EXPECT_THAT(names, Not(Contains("nodes/hgx-8.yaml")));
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_THAT(ConfigStore::BuiltIn().List("none/"), IsEmpty());
}

TEST(ConfigStoreTest, AMissingFileNamesCloseOnes) {
  const ConfigStore store = ConfigStore::BuiltIn();
  const Result<std::string_view> text = store.Get("gpus/h20-69.yaml");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, ErrorCode::kInvalidInput);
  EXPECT_THAT(text.error().ToString(),
              testing::StartsWith("gpus/h20-69.yaml: no such file in the catalogue; did you mean "
                                  "gpus/h20-96.yaml"));
  EXPECT_EQ(store.Origin("gpus/h20-69.yaml"), "not in the catalogue");
}

TEST(ConfigStoreTest, ADirectoryOverridesFileByFile) {
  const TempDir dir;
  const std::string mine = dir.Write("gpus/h20-96.yaml", "mine");
  dir.Write("gpus/new.yaml", "new");
  dir.Write("engines/vllm/deep.tsv", "a\tb");
  dir.Write("gpus/notes.md", "ignored");
  dir.Write("gpus/.hidden.yaml", "ignored");
  dir.Write(".git/config.yaml", "ignored");
  const Result<ConfigStore> store = ConfigStore::WithOverrides(dir.path());
  ASSERT_TRUE(store) << store.error().ToString();
  EXPECT_EQ(*store->Get("gpus/h20-96.yaml"), "mine");
  EXPECT_EQ(store->Origin("gpus/h20-96.yaml"), mine);
  EXPECT_EQ(*store->Get("gpus/new.yaml"), "new");
  EXPECT_EQ(*store->Get("engines/vllm/deep.tsv"), "a\tb");
  EXPECT_EQ(*store->Get("gpus/l4-24.yaml"), *ConfigStore::BuiltIn().Get("gpus/l4-24.yaml"));
  EXPECT_EQ(store->List("").size(), ConfigStore::BuiltIn().List("").size() + 2);
}

TEST(ConfigStoreTest, KeepsAnyBytes) {
  const TempDir dir;
  std::string text;
  for (int i = 0; i < 256; ++i) text += static_cast<char>(i);
  dir.Write("a.tsv", text);
  EXPECT_EQ(*ConfigStore::WithOverrides(dir.path())->Get("a.tsv"), text);
}

TEST(ConfigStoreTest, RefusesADirectoryThatIsNoCatalogue) {
  const TempDir dir;
  EXPECT_EQ(OverridesError(dir.Path("none")),
            dir.Path("none") + ": cannot list: No such file or directory");
  const std::string file = dir.Write("a.yaml", "x");
  EXPECT_EQ(OverridesError(file), file +
                                      ": expected a directory, found a file; give --configs a "
                                      "directory laid out like the catalogue's configs/");
  const TempDir empty;
  EXPECT_EQ(OverridesError(empty.path()),
            empty.path() +
                ": expected .yaml or .tsv files in it or below, found none; lay it out like the "
                "catalogue's configs/, such as gpus/h20-96.yaml");
}

TEST(ConfigStoreTest, ALoopOfLinksEnds) {
  const TempDir dir;
  dir.Write("a.yaml", "x");
  ASSERT_EQ(::symlink(".", dir.Path("loop").c_str()), 0);
  EXPECT_THAT(OverridesError(dir.path()),
              testing::HasSubstr(": expected at most 8 levels of directories; give --configs a "
                                 "directory laid out like the catalogue's configs/"));
}

TEST(ConfigStoreTest, AFileThatIsTooLargeIsNamed) {
  const TempDir dir;
  const std::string path = dir.Write("a.yaml", "x");
  std::filesystem::resize_file(path, 17'000'000);
  EXPECT_EQ(OverridesError(dir.path()),
            path + ": expected at most 16,777,216 B, the file has 17,000,000 B");
}

}  // namespace
}  // namespace shardplan
