#include "checkpoint/output_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "support/temp_dir.h"

namespace shardplan {
namespace {

using testing_support::TempDir;

size_t EntriesIn(const std::string& path) {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path)) ++count;
  return count;
}

std::string OutputRefusal(const std::string& path) {
  const auto staged = StagedDirectory::Create(path);
  return staged ? "no error" : staged.error().ToString();
}

TEST(OutputFileTest, WritesAndExtends) {
  const TempDir dir;
  {
    auto file = OutputFile::Create(dir.Path("f"));
    ASSERT_TRUE(file) << file.error().ToString();
    EXPECT_TRUE(file->Write("ab"));
    EXPECT_TRUE(file->Write(""));
    EXPECT_TRUE(file->Write("c"));
    EXPECT_TRUE(file->Extend(Bytes(5)));
    EXPECT_TRUE(file->Close());
  }
  EXPECT_EQ(testing_support::ReadText(dir.Path("f")), std::string("abc\0\0", 5));
  EXPECT_EQ(OutputFile::Create(dir.Path("f")).error().ToString(),
            dir.Path("f") + ": cannot create: File exists");
}

TEST(OutputFileTest, ReportsWhatTheSystemRefuses) {
  const TempDir dir;
  auto file = OutputFile::Create(dir.Path("f"));
  ASSERT_TRUE(file);
  const Status status = file->Extend(Bytes(-1));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().ToString(),
            dir.Path("f") + ": cannot make -1 bytes long: Invalid argument");
}

TEST(StagedDirectoryTest, AppearsWhenPublished) {
  const TempDir dir;
  const std::string target = dir.Path("new");
  auto staged = StagedDirectory::Create(target + "/");
  ASSERT_TRUE(staged) << staged.error().ToString();
  EXPECT_EQ(staged->path().substr(0, dir.path().size() + 10), dir.path() + "/.new.tmp-");
  EXPECT_EQ(staged->path().size(), dir.path().size() + 16);
  testing_support::WriteText(staged->path() + "/f", "x");
  EXPECT_FALSE(std::filesystem::exists(target));
  EXPECT_TRUE(staged->Publish());
  EXPECT_EQ(testing_support::ReadText(target + "/f"), "x");
  EXPECT_EQ(EntriesIn(dir.path()), 1u);
}

TEST(StagedDirectoryTest, LeavesNothingBehind) {
  const TempDir dir;
  {
    auto staged = StagedDirectory::Create(dir.Path("new"));
    ASSERT_TRUE(staged);
    const StagedDirectory moved = *std::move(staged);
    testing_support::WriteText(moved.path() + "/f", "x");
    EXPECT_EQ(EntriesIn(dir.path()), 1u);
  }
  EXPECT_EQ(EntriesIn(dir.path()), 0u);
}

TEST(StagedDirectoryTest, TakesTheLastWordFromTheSystem) {
  const TempDir dir;
  {
    auto staged = StagedDirectory::Create(dir.Path("new"));
    ASSERT_TRUE(staged);
    dir.Write("new/f", "someone was faster");
    const Status status = staged->Publish();
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::kIo);
    EXPECT_EQ(status.error().ToString(), dir.Path("new") + ": cannot create: Directory not empty");
  }
  EXPECT_EQ(EntriesIn(dir.path()), 1u);
}

TEST(StagedDirectoryTest, RefusesToOverwrite) {
  const TempDir dir;
  dir.Write("full/old", "");
  EXPECT_EQ(OutputRefusal(dir.Path("full")),
            dir.Path("full") +
                ": expected a new or empty directory, found one that holds old; choose another "
                "path; nothing is ever overwritten");
  EXPECT_EQ(OutputRefusal(dir.Write("file", "")),
            dir.Path("file") +
                ": expected a new or empty directory, found a file; choose another path; nothing "
                "is ever overwritten");
  dir.MakeDir("empty");
  std::filesystem::create_symlink("empty", dir.Path("link"));
  EXPECT_EQ(OutputRefusal(dir.Path("link")),
            dir.Path("link") +
                ": expected a new or empty directory, found a symbolic link; choose another path; "
                "nothing is ever overwritten");
  EXPECT_EQ(OutputRefusal(dir.Path("none/new")),
            dir.Path("none/new") + ": expected a new directory in one that is there, found no " +
                dir.Path("none/") + "; create that first");
  for (const char* path : {"", ".", "..", "/", "a/.."}) {
    EXPECT_EQ(StagedDirectory::Create(path).error().message,
              "expected the path of a new directory, found one without a name")
        << path;
  }
  auto staged = StagedDirectory::Create(dir.Path("empty"));
  ASSERT_TRUE(staged) << staged.error().ToString();
  EXPECT_TRUE(staged->Publish());
}

}  // namespace
}  // namespace shardplan
