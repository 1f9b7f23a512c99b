#include "shardplan/preflight/directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "support/temp_dir.h"

namespace shardplan {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing_support::TempDir;

constexpr const char* kPointer =
    "version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 12\n";

std::vector<Finding> Look(const std::string& directory) {
  const Result<std::vector<Finding>> found = DirectoryFindings(directory);
  EXPECT_TRUE(found.has_value()) << (found ? "" : found.error().ToString());
  return found ? *found : std::vector<Finding>();
}

TEST(DirectoryFindingsTest, NothingToSayOfPlainFiles) {
  const TempDir dir;
  dir.Write("config.json", "{}");
  dir.Write("model.safetensors", "x");
  dir.Write("figures/part.txt", "x");
  EXPECT_THAT(Look(dir.path()), IsEmpty());
}

TEST(DirectoryFindingsTest, PartsOfDownloads) {
  const TempDir dir;
  dir.Write("a.safetensors.part", "");
  dir.Write(".model-00001-of-00002.safetensors.Ab3dEf", "");
  dir.Write(".cache/huggingface/download/xyz.incomplete", "");
  dir.Write(".cache/huggingface/download/xyz.metadata", "");
  const std::vector<Finding> found = Look(dir.path());
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].id, "model.download_leftover");
  EXPECT_EQ(found[0].severity, Severity::kWarning);
  EXPECT_EQ(found[0].message,
            "3 parts of unfinished downloads: .model-00001-of-00002.safetensors.Ab3dEf, "
            "a.safetensors.part, .cache/huggingface/download/xyz.incomplete");
}

TEST(DirectoryFindingsTest, AriaLeavesFilesOfFullLength) {
  const TempDir dir;
  dir.Write("a.safetensors", "looks whole");
  dir.Write("a.safetensors.aria2", "");
  dir.Write("b.safetensors.aria2", "");  // not begun: nothing that looks whole
  const std::vector<Finding> found = Look(dir.path());
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].id, "model.unfinished_file");
  EXPECT_EQ(found[0].severity, Severity::kError);
  EXPECT_THAT(found[0].message, HasSubstr(": a.safetensors"));
  EXPECT_EQ(found[1].id, "model.download_leftover");
}

TEST(DirectoryFindingsTest, ACacheIsSoundAndSaysSo) {
  const TempDir dir;
  dir.Write("hub/models--o--n/blobs/1234", "x");
  dir.Write("hub/models--o--n/blobs/5678.incomplete", "x");
  const std::string snapshot = dir.MakeDir("hub/models--o--n/snapshots/abc");
  fs::create_symlink("../../blobs/1234", snapshot + "/model.safetensors");
  const std::vector<Finding> found = Look(snapshot);
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].id, "model.download_leftover");
  EXPECT_THAT(found[0].message, HasSubstr("../../blobs/5678.incomplete"));
  EXPECT_EQ(found[1].id, "model.links_outside");
  EXPECT_EQ(found[1].severity, Severity::kNote);
}

TEST(DirectoryFindingsTest, LinksToNothingAndLoops) {
  const TempDir dir;
  fs::create_symlink("../../blobs/gone", dir.Path("a.safetensors"));
  fs::create_symlink("b.json", dir.Path("b.json"));
  fs::create_symlink("nowhere", dir.Path("picture.png"));  // nobody loads it
  const std::vector<Finding> found = Look(dir.path());
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].id, "model.dangling_link");
  EXPECT_EQ(found[0].message, "2 links to nothing: a.safetensors, b.json");
}

TEST(DirectoryFindingsTest, PointersInThePlaceOfFiles) {
  const TempDir dir;
  dir.Write("tokenizer.json", kPointer);
  dir.Write("model.safetensors", kPointer);
  dir.Write("README.md", kPointer);
  const std::vector<Finding> found = Look(dir.path());
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].id, "model.lfs_pointer");
  EXPECT_EQ(found[0].message,
            "2 Git LFS pointers in the place of files: model.safetensors, tokenizer.json");
}

TEST(DirectoryFindingsTest, FilesOfOthers) {
  const TempDir dir;
  fs::permissions(dir.Write("config.json", "{}"), fs::perms::none);
  const std::vector<Finding> found = Look(dir.path());
  if (found.empty()) GTEST_SKIP() << "this user may read everything";
  EXPECT_EQ(found[0].id, "model.unreadable");
  EXPECT_EQ(found[0].message,
            "a file cannot be read (cannot open: Permission denied): config.json");
}

TEST(DirectoryFindingsTest, HostileNamesAreMadeSafe) {
  const TempDir dir;
  dir.Write("\x1b[2J.part", "");
  const std::vector<Finding> found = Look(dir.path());
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].message, "a part of an unfinished download: \\x1b[2J.part");
}

TEST(DirectoryFindingsTest, NoDirectory) {
  const TempDir dir;
  const auto found = DirectoryFindings(dir.Path("gone"));
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().code, ErrorCode::kIo);
}

TEST(NameSomeTest, CutsWithACount) {
  EXPECT_EQ(NameSome({"a"}), "a");
  EXPECT_EQ(NameSome({"a", "b", "c", "d", "e"}), "a, b, c, d, e");
  EXPECT_EQ(NameSome({"a", "b", "c", "d", "e", "f"}), "a, b, c, d and 2 more");
  EXPECT_EQ(NameSome({"a", "b", "c"}, 1), "a and 2 more");
}

}  // namespace
}  // namespace shardplan
